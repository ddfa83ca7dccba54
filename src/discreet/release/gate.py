"""The gate: a release is attacked before it is published, and blocked if an attack succeeds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from sqlglot import exp

from discreet.attacks.classes.uniqueness import find_linked_rows, find_uniqueness
from discreet.attacks.finding import Finding, judge, worst_first
from discreet.attacks.linkage.link import link_people
from discreet.attacks.manifest import hierarchies_of, promised_k
from discreet.engines.connect import open_table
from discreet.engines.engine import Column, Engine, Kind, Table
from discreet.engines.scratch import ScratchEngine, innermost
from discreet.errors import RiskNotTolerated, WrongUsage
from discreet.formatting import format_percent, join_names
from discreet.measure.assessment import Assessment
from discreet.measure.joint import measure_joint, measure_linked_rows
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.attack_tolerance import release_tolerance
from discreet.policy.hierarchy import Hierarchy
from discreet.policy.undecided import find_undecided, find_unsure
from discreet.progress import Progress, ignore_progress
from discreet.registry import ATTACKS
from discreet.release.history import EarlierRelease
from discreet.release.verify import policy_of_release
from discreet.sql import build

ATTACK_STEPS = 4  # kinds of attacks that a gate tries one after another
SAMPLE = 2_000  # people who are attacked one by one; classes are attacked whole
# The roles of columns decide nothing in deidentified rows: what is left out or made coarser does.
REMEDY = (
    "Look at every column with --dry-run, and leave out those that are not needed: --leave-out a,b. Or "
    "publish by criteria instead, with `discreet anonymize`."
)


@dataclass(frozen=True)
class Gate:
    """What is tolerated, which earlier releases there are, and why a risk is accepted, if it is."""

    asked: model.TablePolicy
    earlier: tuple[EarlierRelease, ...] = ()
    accepted: str | None = None
    refuses: bool = True  # a dry run only reports

    def __post_init__(self) -> None:
        if self.accepted is not None and not self.accepted.strip():
            raise WrongUsage(
                "A risk is accepted for a reason that is kept with what is published. Write one."
            )

    def pass_through(
        self,
        release: Table,
        source: Table,
        measured: Assessment,
        *,
        people: Table | None = None,
        progress: Progress = ignore_progress,
    ) -> GateResult:
        """Attack `release`, which was made of `source` and `measured`; return what was found.

        `people` are the same rows with their unit, where there is one: a value that every person of a
        class has is revealed for all of them, with any other rows.

        Raises:
            RiskNotTolerated: An attack learns more than is tolerated, or the policy leaves open what
                must be decided first, and the risk was not accepted.
        """
        tried = attack_release(release, source, self.asked, earlier=self.earlier, progress=progress)
        alone = find_uniqueness(measured.joint, target=release.label)
        tolerance = release_tolerance(self.asked)
        of_people = _attack_classes_of_people(people, self.asked, release.label) if people else ()
        progress("attacks", ATTACK_STEPS, ATTACK_STEPS)
        open_points = find_undecided(
            self.asked,
            among={column.name for column in release.columns},
            modal_shares={name: found.modal_share for name, found in measured.sensitive.items()},
        )
        return self.decide(
            (alone, *_worse_of_both(tried.findings, of_people, tolerance)),
            tried.cautions,
            tolerance=tolerance,
            open_points=open_points,
            not_tried=tried.not_tried,
        )

    def decide(
        self,
        findings: Sequence[Finding],
        cautions: tuple[str, ...] = (),
        *,
        tolerance: Mapping[str, float],
        open_points: tuple[str, ...] = (),
        not_tried: tuple[str, ...] = (),
        judged_by: Callable[[Finding, Mapping[str, float]], Finding] = judge,
    ) -> GateResult:
        """Hold findings against a tolerance, by attack; `open_points` are what is not decided yet.

        Raises:
            RiskNotTolerated: A finding exceeds it, or a point is open, and the risk was not accepted.
        """
        judged = worst_first([judged_by(found, tolerance) for found in findings])
        beyond = [found for found in judged if found.exceeds]
        is_beyond = bool(beyond or open_points)
        if is_beyond and self.refuses and self.accepted is None:
            raise RiskNotTolerated(_refusal_message(beyond, open_points), findings=judged)
        accepted = self.accepted if is_beyond else None
        return GateResult(judged, cautions, accepted, open_points, not_tried)


@dataclass(frozen=True)
class GateResult:
    """What attacks found, and why what is beyond tolerance was accepted.

    `not_tried` are earlier releases of the same people whose rows could not be put together with these.
    """

    findings: tuple[Finding, ...] = ()
    cautions: tuple[str, ...] = ()
    accepted: str | None = None
    open_points: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()

    @property
    def is_refused(self) -> bool:
        """Whether nothing may be published: more is learned than is tolerated, and not accepted."""
        is_beyond = bool(self.open_points) or any(found.exceeds for found in self.findings)
        return is_beyond and self.accepted is None


def attack_release(
    release: Table,
    source: Table,
    asked: model.TablePolicy,
    *,
    earlier: Sequence[EarlierRelease] = (),
    progress: Progress = ignore_progress,
) -> GateResult:
    """Return what the fitting attacks learn from `release`, and what could not be tried.

    The adversary knows the quasi-identifiers of the people in `source`: linkage is tried on a sample
    of them, and what classes reveal on all. With earlier releases of the same people, all of them are
    joined with this one, by every column that they share; the adversary then also knows what their
    policies took for quasi-identifiers, regardless of this one.
    """
    progress("attacks", 0, ATTACK_STEPS)
    quasi = _published_names(release, asked.with_role(model.ColumnRole.QUASI_IDENTIFIER))
    # What the attacks keep on the engine goes with the scratch.
    with ScratchEngine(release.engine) as scratch:
        release = replace(release, engine=scratch)
        before = read_earlier(earlier, engine=scratch)
        known = _know_people(source, release, quasi, asked, before)
        together = attack_jointly(known, release, before)
        progress("attacks", 1, ATTACK_STEPS)
        if not quasi:
            nothing = "No quasi-identifier is left in what was made: there was nothing to link by."
            return replace(together, cautions=(nothing, *together.cautions))
        linked = _attack_linkage(known, release, hierarchies=known.hierarchies)
        progress("attacks", 2, ATTACK_STEPS)
        revealed = _attack_classes(release, replace(asked, unit=None))
        progress("attacks", 3, ATTACK_STEPS)
        findings = (linked, *revealed, *together.findings)
        cautions = (*together.cautions, *ATTACKS.broken().values())
        return replace(together, findings=findings, cautions=cautions)


def _published_names(release: Table, names: Sequence[str]) -> list[str]:
    return [name for name in names if release.column(name) is not None]


@dataclass(frozen=True)
class KnownPeople:
    """Whom the adversary knows: people, what of them it uses, and what it wants to learn.

    `more` is what an adversary knows who was expected by the policies of earlier releases.
    """

    people: Table
    quasi: Sequence[str]
    sensitive: Sequence[str]
    kept: Sequence[str]
    hierarchies: Mapping[str, Hierarchy]
    k: int
    more: Sequence[str] = ()


@dataclass(frozen=True)
class EarlierReleases:
    """Earlier releases: those that can be read, and those that are gone."""

    readable: Sequence[tuple[EarlierRelease, Table]] = ()
    gone: Sequence[EarlierRelease] = ()


def read_earlier(earlier: Sequence[EarlierRelease], *, engine: Engine) -> EarlierReleases:
    """Open earlier releases on `engine`, under the names of their files."""
    readable: list[tuple[EarlierRelease, Table]] = []
    for one in earlier:
        if one.is_there:
            table = open_table(one.source, engine=innermost(engine))
            table = replace(table, engine=engine, label=PurePath(one.output).name)
            readable.append((one, table))
    return EarlierReleases(readable, [one for one in earlier if not one.is_there])


def known_from_earlier(
    before: EarlierReleases, published: Collection[str], asked: model.TablePolicy
) -> list[str]:
    """Return what outsiders know according to earlier releases, beside this policy.

    Where it was not recorded, that is every column of theirs that is not published again now. A
    column that this policy calls sensitive is to be learned, and the unit is not known.
    """
    found: dict[str, None] = {}
    for one, table in before.readable:
        names = [column.name for column in table.columns]
        if one.quasi is None:
            found |= {name: None for name in names if name not in published}
        else:
            found |= {name: None for name in names if name in one.quasi}
    secret = {*asked.with_role(model.ColumnRole.SENSITIVE), asked.unit}
    return [name for name in found if name not in secret]


def sample_people(source: Table, columns: Sequence[str], *, engine: Engine) -> Table:
    """Return some rows of `source`, chosen by chance, as a table on `engine`."""
    query = build.select(*map(build.column, columns), source=source.relation.copy())
    query = query.order_by(exp.Rand()).limit(SAMPLE)
    if innermost(source.engine) is innermost(engine):
        relation = engine.keep(query)
    else:
        relation = engine.load(source.engine.run(query).to_reader())
    return Table(engine, relation, engine.columns(relation), source.label)


def _know_people(
    source: Table,
    release: Table,
    quasi: Sequence[str],
    asked: model.TablePolicy,
    before: EarlierReleases,
) -> KnownPeople:
    """Return some people of `source`, and what of them an adversary of `release` knows or wants."""
    sensitive = _published_names(release, asked.with_role(model.ColumnRole.SENSITIVE))
    sensitive = [name for name in sensitive if name not in quasi]
    names = [column.name for column in release.columns]
    kept = [name for name in names if name not in (*quasi, *sensitive) and source.column(name)]
    expected = known_from_earlier(before, names, asked)
    more = [name for name in expected if source.column(name) and name not in quasi]
    is_joined = bool(before.readable and (quasi or more))
    columns = list(dict.fromkeys([*quasi, *sensitive, *kept, *more])) if is_joined else quasi
    people = sample_people(source, columns, engine=release.engine) if columns else source
    hierarchies, k = hierarchies_of(asked), promised_k(asked)
    return KnownPeople(people, quasi, sensitive, kept, hierarchies, k, more)


def _attack_linkage(
    known: KnownPeople,
    release: Table,
    *,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> Finding:
    on = {name: name for name in known.quasi}
    return link_people(release, known.people, on=on, sensitive=sensitive, hierarchies=hierarchies)


def attack_jointly(known: KnownPeople, release: Table, before: EarlierReleases) -> GateResult:
    """Return what `release` reveals together with all earlier ones, and which were not tried.

    Tried are who knows what this policy expects, and who knows what earlier ones expected besides:
    knowing more, one release alone may reveal what otherwise only all of them do.
    """
    adversaries = [list(known.quasi)]
    if known.more:
        adversaries.append([*known.quasi, *known.more])
    findings: list[Finding] = []
    tried: set[str] = set()
    for names in adversaries:
        others = [(one, table) for one, table in before.readable if _has_any(table, names)]
        if others and _has_any(release, names):
            findings += _find_joint(known, names, [release, *(table for _, table in others)])
            tried |= {one.output for one, _ in others}
    apart = [one for one, _ in before.readable if one.output not in tried]
    not_tried = [*before.gone, *apart]
    return GateResult(
        tuple(findings),
        _list_cautions(findings, before.gone, apart),
        not_tried=tuple(one.output for one in not_tried),
    )


def _has_any(table: Table, names: Sequence[str]) -> bool:
    return any(table.column(name) is not None for name in names)


def _find_joint(
    known: KnownPeople, names: Sequence[str], releases: Sequence[Table]
) -> tuple[Finding, ...]:
    from discreet.attacks.releases.composition import Thresholds, find_composition

    return find_composition(
        known.people,
        releases,
        on={name: name for name in names},
        sensitive=known.sensitive,
        kept=[name for name in known.kept if name not in names],
        thresholds=Thresholds(k=known.k),
        hierarchies=known.hierarchies,
    )


def _list_cautions(
    findings: Sequence[Finding], gone: Sequence[EarlierRelease], apart: Sequence[EarlierRelease]
) -> tuple[str, ...]:
    found = [
        f"The earlier release {one.output} was not tried: it is not there any more. Say where it is "
        "now with --earlier FILE, and keep what you publish."
        for one in gone
    ]
    found += [
        f"The earlier release {one.output} was not tried: it has none of the columns by which people "
        "are found in this one."
        for one in apart
    ]
    strange = {name: None for one in findings for name in one.details.get("not_joined_by", ())}
    if strange:
        found.append(
            f"Releases were not joined by {join_names(list(strange))}: the values are written otherwise "
            "there. What they reveal together may be more than was found."
        )
    return tuple(found)


def _attack_classes(release: Table, asked: model.TablePolicy) -> list[Finding]:
    """Return what attacks find whose specification says that they are gated."""
    import numpy as np

    from discreet.attacks.all_attacks import AttackInput, missing_input, run_attack

    bound = bind_roles(release, policy=policy_of_release(asked))
    given = AttackInput(rng=np.random.default_rng(), binding=bound, jointly=False)
    findings: list[Finding] = []
    for spec in ATTACKS.all():
        if spec.gated and not missing_input(spec, given):
            findings += run_attack(spec, given)
    return findings


def _attack_classes_of_people(people: Table, asked: model.TablePolicy, label: str) -> list[Finding]:
    """Return which values classes reveal of their people, counted in people and not in rows."""
    quasi = asked.with_role(model.ColumnRole.QUASI_IDENTIFIER)
    if not any(people.column(name) is not None for name in quasi):
        return []
    with ScratchEngine(people.engine) as scratch:
        return _attack_classes(replace(people, engine=scratch, label=label), asked)


def _worse_of_both(
    of_rows: Sequence[Finding], of_people: Sequence[Finding], tolerance: Mapping[str, float]
) -> tuple[Finding, ...]:
    """Return the findings of rows, each replaced by that of people where it is worse."""
    others = {found.title: found for found in of_people}
    return tuple(
        worst_first([judge(one, tolerance) for one in (found, others.get(found.title, found))])[0]
        for found in of_rows
    )


@dataclass(frozen=True)
class DeidentifiedRows:
    """Rows that are ready to be written: what outsiders may know of them, and which are pseudonyms.

    `unit` is a column of the relation that says whose rows they are; it is not among the columns.
    """

    table: Table
    quasi: Sequence[str]
    pseudonyms: Sequence[str] = ()
    unit: Column | None = None


def attack_deidentified(
    made: DeidentifiedRows, source: Table, gate: Gate, *, progress: Progress = ignore_progress
) -> GateResult:
    """Attack what was made of `source`; return what was found.

    Counted is who is alone on all columns that stay, whatever their roles. Linkage is tried by people
    who know the values as they are published; pseudonyms with what the source holds and with usual
    numbers and dates; and earlier releases of the same people are joined with this one.

    Raises:
        RiskNotTolerated: An attack learns more than the policy tolerates, and the risk was not accepted.
    """
    asked = gate.asked
    with ScratchEngine(made.table.engine) as scratch:
        release = replace(made.table, engine=scratch)
        quasi = _published_names(release, made.quasi)
        before = read_earlier(gate.earlier, engine=scratch)
        # People are known as they are in these rows: what is not published here is not known of them.
        known = _know_people(release, release, quasi, asked, before)
        progress("attacks", 0, ATTACK_STEPS)
        findings = _find_alone(release, made, asked)
        progress("attacks", 1, ATTACK_STEPS)
        if quasi:
            linked = _attack_linkage(known, release, sensitive=known.sensitive)
            findings.append(replace(linked, remedy=REMEDY))
        progress("attacks", 2, ATTACK_STEPS)
        findings += _attack_pseudonyms(release, made, source)
        progress("attacks", 3, ATTACK_STEPS)
        together = attack_jointly(known, release, before)
        progress("attacks", 4, ATTACK_STEPS)
    return gate.decide(
        [*findings, *together.findings],
        together.cautions,
        tolerance=release_tolerance(asked),
        open_points=find_unsure(asked, among={column.name for column in release.columns}),
        not_tried=together.not_tried,
    )


def _find_alone(release: Table, made: DeidentifiedRows, asked: model.TablePolicy) -> list[Finding]:
    """Return who is alone on the columns that stay, with one row or with all rows of a pseudonym.

    No one outside knows a pseudonym or a moved date; but rows with the same pseudonym are one person's.
    """
    known = tuple(column for column in release.columns if column.name not in made.pseudonyms)
    if not known:
        return []
    names = [column.name for column in known]
    secret = [name for name in asked.with_role(model.ColumnRole.SENSITIVE) if name in names]
    others = [name for name in names if name not in secret]
    unit = () if made.unit is None else (made.unit,)
    # A table of nothing but sensitive columns is known by all of them.
    bound = bind_roles(
        replace(release, columns=(*known, *unit)),
        quasi=others or names,
        sensitive=secret if others else (),
        unit=made.unit.name if made.unit else None,
    )
    by_rows = find_uniqueness(measure_joint(bound), target=release.label)
    linked = [
        find_linked_rows(
            measure_linked_rows(
                release,
                link,
                known=[column for column in known if column.name not in secret or not others],
                secret=[column for column in known if column.name in secret and others],
                unit=made.unit,
            ),
            target=release.label,
            link=link.name,
        )
        for link in _pseudonym_columns(release, made)
    ]
    return [max([replace(by_rows, remedy=REMEDY), *linked], key=lambda found: found.rate)]


def _pseudonym_columns(release: Table, made: DeidentifiedRows) -> tuple[Column, ...]:
    """Return the columns of pseudonyms; dates that were moved are none."""
    return tuple(
        column
        for column in release.columns
        if column.name in made.pseudonyms and column.kind in (Kind.TEXT, Kind.INTEGER)
    )


def _attack_pseudonyms(
    release: Table, made: DeidentifiedRows, source: Table
) -> tuple[Finding, ...]:
    from discreet.attacks.hashes.dictionary import DictionaryOptions, attack_table

    columns = _pseudonym_columns(release, made)
    if not columns:
        return ()
    # Millions of texts of known forms would take minutes, and a keyed pseudonym is none of them.
    tools = DictionaryOptions(forms_limit=0)
    return attack_table(replace(release, columns=columns), known=[source], tools=tools)


def _refusal_message(beyond: Sequence[Finding], open_points: Sequence[str]) -> str:
    found: list[str] = []
    if beyond:
        learned = "; ".join(
            f"{found.title} learns {format_percent(found.advantage)}, tolerated "
            f"{format_percent(found.tolerance or 0)}"
            for found in beyond
        )
        found.append(
            f"Attacked, it reveals more than is tolerated ({learned}). {beyond[0].verdict} What helps: "
            f"{beyond[0].remedy[:1].lower()}{beyond[0].remedy[1:]}"
        )
    found += open_points
    return (
        f"Nothing was published. {' '.join(found)} Or state another `tolerance` in the policy, or "
        "accept the risk in writing: --accept-risk REASON (in SQL, accept_risk = 'REASON')."
    )
