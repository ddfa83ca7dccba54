"""The gate of de-identification: rows are attacked before they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.attacks.classes.uniqueness import find_uniqueness
from discreet.attacks.finding import Finding
from discreet.attacks.hashes.dictionary import DictionaryOptions, attack_table
from discreet.attacks.linkage.link import link_people
from discreet.attacks.manifest import hierarchies_of, promised_k
from discreet.engines.engine import Column, Kind, Table
from discreet.engines.scratch import ScratchEngine
from discreet.measure.joint import measure_joint
from discreet.measure.roles import bind_roles
from discreet.policy import model
from discreet.policy.attack_tolerance import release_tolerance
from discreet.policy.undecided import find_unsure
from discreet.release.deidentify.source import SourceTable
from discreet.release.gate import (
    Gate,
    GateResult,
    KnownPeople,
    attack_jointly,
    known_from_earlier,
    read_earlier,
    sample_people,
)
from discreet.release.history import EarlierRelease

# The roles of columns decide nothing here: what is left out or made coarser does.
REMEDY = (
    "Look at every column with --dry-run, and leave out those that are not needed: --leave-out a,b. Or "
    "publish by criteria instead, with `discreet anonymize`."
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


def pass_gate(
    made: DeidentifiedRows,
    source: SourceTable,
    *,
    accepted: str | None,
    refuses: bool = True,
    earlier: Sequence[EarlierRelease] = (),
) -> GateResult:
    """Attack what was made; return what was found.

    Counted is who is alone on all columns that stay, whatever their roles. Linkage is tried by people
    who know the values as they are published; pseudonyms with what the source holds and with usual
    numbers and dates; and earlier releases of the same people are joined with this one.

    Raises:
        RiskNotTolerated: An attack learns more than the policy tolerates, and the risk was not accepted.
    """
    asked = source.policy or model.TablePolicy(source.table.label, ())
    with ScratchEngine(made.table.engine) as scratch:
        release = replace(made.table, engine=scratch)
        findings = [
            *_find_alone(release, made, asked),
            *_attack_linkage(release, made.quasi, asked),
            *_attack_pseudonyms(release, made, source.table),
        ]
        together = _attack_with_earlier(release, made, asked, earlier)
    gate = Gate(asked, accepted=accepted, refuses=refuses)
    return gate.decide(
        [*findings, *together.findings],
        together.cautions,
        tolerance=release_tolerance(asked),
        open_points=find_unsure(asked, among={column.name for column in release.columns}),
        not_tried=together.not_tried,
    )


def _find_alone(
    release: Table, made: DeidentifiedRows, asked: model.TablePolicy
) -> tuple[Finding, ...]:
    """Return who is alone on the columns that stay; no one outside knows a pseudonym or a moved date."""
    known = tuple(column for column in release.columns if column.name not in made.pseudonyms)
    if not known:
        return ()
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
    found = find_uniqueness(measure_joint(bound), target=release.label)
    return (replace(found, remedy=REMEDY),)


def _attack_with_earlier(
    release: Table,
    made: DeidentifiedRows,
    asked: model.TablePolicy,
    earlier: Sequence[EarlierRelease],
) -> GateResult:
    quasi = [name for name in made.quasi if release.column(name) is not None]
    if not earlier:
        return GateResult()
    before = read_earlier(earlier, engine=release.engine)
    others = [column.name for column in release.columns if column.name not in quasi]
    sensitive = [name for name in asked.with_role(model.ColumnRole.SENSITIVE) if name in others]
    kept = [name for name in others if name not in sensitive]
    people = sample_people(release, [*quasi, *others], engine=release.engine)
    # People are known as they are in these rows: what is not published here is not known of them.
    expected = known_from_earlier(before, [*quasi, *others], asked)
    more = [name for name in expected if name in others]
    hierarchies, k = hierarchies_of(asked), promised_k(asked)
    known = KnownPeople(people, quasi, sensitive, kept, hierarchies, k, more)
    return attack_jointly(known, release, before)


def _attack_linkage(
    release: Table, quasi: Sequence[str], asked: model.TablePolicy
) -> list[Finding]:
    known = [name for name in quasi if release.column(name) is not None]
    if not known:
        return []
    sensitive = [
        name for name in asked.with_role(model.ColumnRole.SENSITIVE) if release.column(name)
    ]
    people = sample_people(release, known, engine=release.engine)
    learned = [name for name in sensitive if name not in known]
    found = link_people(release, people, on={name: name for name in known}, sensitive=learned)
    return [replace(found, remedy=REMEDY)]


def _attack_pseudonyms(
    release: Table, made: DeidentifiedRows, source: Table
) -> tuple[Finding, ...]:
    columns = tuple(
        column
        for column in release.columns
        if column.name in made.pseudonyms and column.kind in (Kind.TEXT, Kind.INTEGER)
    )
    if not columns:
        return ()
    # Millions of texts of known forms would take minutes, and a keyed pseudonym is none of them.
    tools = DictionaryOptions(forms_limit=0)
    return attack_table(replace(release, columns=columns), known=[source], tools=tools)
