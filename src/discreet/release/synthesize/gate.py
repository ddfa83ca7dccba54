"""The gate of synthetic tables: what attacks learn of the people in one, compared with other people.

What an attack learns about people who had no part in a table, it learned about the population, and that is no
breach. But all people are in the source. So some of them are set aside, and a *twin* of the table is made in the
same way from the others, for the custodian's eyes only. Attacks on the twin learn something of the people in
it, and something of those set aside: the difference is what being there revealed, what differential privacy
bounds, and what the policy's tolerance is held against.

The rows that are to be published are compared with rows drawn anew from the same model: if they were
nearer to people than these, they would hold more than what was paid for.

Of a large source a sample of rows is read. A person has more influence on a twin made of it, not less.

Of each person one row is attacked, chosen by chance: rows of one person are alike, and several of them would make
an attack look surer of itself than it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.finding import Finding, judge
from discreet.attacks.intervals import wilson
from discreet.attacks.manifest import hierarchies_of, promised_k
from discreet.attacks.synthetic.attribute import infer_attribute
from discreet.attacks.synthetic.closest import find_closest_people
from discreet.attacks.synthetic.linkability import link_column_sets
from discreet.attacks.synthetic.membership import find_members
from discreet.attacks.synthetic.singling_out import single_out
from discreet.attacks.synthetic.trial import Feature, Records, SyntheticTrial
from discreet.domain.coded_column import CodedColumn
from discreet.engines.engine import ArrowTable, Engine, Table
from discreet.engines.scratch import ScratchEngine
from discreet.formatting import format_percent
from discreet.policy import model
from discreet.policy.attack_tolerance import DEFAULT, release_tolerance
from discreet.progress import Progress, ignore_progress
from discreet.release.gate import (
    EarlierReleases,
    Gate,
    GateResult,
    KnownPeople,
    attack_jointly,
    known_from_earlier,
    read_earlier,
)
from discreet.release.synthesize.domain import TableDomain
from discreet.sql import build

Codes = NDArray[np.int32]

MOST_ROWS = 20_000  # of the source that are read for attacks
MOST_PEOPLE = 2_000  # who are attacked
SHARE_OF_PEOPLE = 5  # one in so many at most
LEAST_PEOPLE = 2  # below, no control is possible
# What attacks on synthetic tables may learn where the policy does not say it.
TOLERANCE = dict.fromkeys(
    ("singling-out", "linkability", "attribute", "closest", "membership"), 0.05
)
# A refusal wastes what was paid, and the promise does not rest on it: an attack must be this sure of itself.
CONFIDENCE = 1 - 1e-6
TOO_FEW = "The source has too few people to be attacked: the promise is that of epsilon alone."


@dataclass(frozen=True)
class CodedPeople:
    """Rows of the source as codes, and whose they are.

    Attributes:
        rows: A row for each row, a column for each synthesized column.
        units: The number of each row's unit.
        is_all: Whether the source has no other rows.
    """

    rows: Codes
    units: NDArray[np.int64]
    is_all: bool


@dataclass(frozen=True)
class TwinTable:
    """A table made in the same way, without some people; all as codes.

    Attributes:
        rows: The rows of the twin.
        people: Rows of people it was made from.
        others: Rows of people who were set aside.
        is_other: Which rows of the source are theirs.
        is_attacked: Which rows of the source stand for their person: one of each.
    """

    rows: Codes
    people: Codes
    others: Codes
    is_other: NDArray[np.bool_]
    is_attacked: NDArray[np.bool_]


def make_twin(
    source: CodedPeople,
    make_table: Callable[[Codes, NDArray[np.int64]], Codes],
    chance: Generator,
) -> TwinTable | None:
    """Return a table made without some people; None where there are too few people.

    Args:
        source: The people.
        make_table: Makes a table of rows and their units in the way the published one was made.
        chance: Who is set aside.
    """
    is_other = choose_others(source.units, chance)
    if is_other is None:
        return None
    made = make_table(source.rows[~is_other], source.units[~is_other])
    return compare_with_others(source, made, is_other, chance)


def choose_others(units: NDArray[np.int64], chance: Generator) -> NDArray[np.bool_] | None:
    """Return which rows are of people who are set aside, by chance; None where there are too few people."""
    people = np.unique(units)
    many = min(MOST_PEOPLE, len(people) // SHARE_OF_PEOPLE)
    return None if many < LEAST_PEOPLE else np.isin(units, chance.permutation(people)[:many])


def compare_with_others(
    source: CodedPeople, made: Codes, is_other: NDArray[np.bool_], chance: Generator
) -> TwinTable:
    """Return a twin with people it was made from, as many as were set aside, and one row of each.

    A description fits one of more people less often.
    """
    is_attacked = limit_rows(source.units, 1, chance)
    others = is_attacked & is_other
    inside = chance.permutation(np.flatnonzero(is_attacked & ~is_other))[: np.sum(others)]
    return TwinTable(
        _cap_rows(made, chance), source.rows[inside], source.rows[others], is_other, is_attacked
    )


def _cap_rows(rows: Codes, chance: Generator) -> Codes:
    """Return at most as many rows as are compared one by one."""
    return rows if len(rows) <= MOST_ROWS else rows[chance.permutation(len(rows))[:MOST_ROWS]]


def attack_twin(
    twin: TwinTable,
    columns: Sequence[CodedColumn],
    *,
    label: str,
    sensitive: Sequence[str],
    chance: Generator,
    progress: Progress = ignore_progress,
) -> list[Finding]:
    """Return what attacks on a twin learn of people by their being in it."""
    trial = SyntheticTrial(
        tuple(_make_feature(one) for one in columns),
        _to_records(twin.rows, columns),
        _to_records(twin.people, columns),
        _to_records(twin.others, columns),
        label,
    )
    attacks: list[Callable[[], Sequence[Finding]]] = [
        lambda: single_out(trial, rng=chance),
        lambda: [find_closest_people(trial, rng=chance)],
        lambda: [find_members(trial, rng=chance)],
    ]
    if len(columns) > 1:
        secrets = [name for name in sensitive if name in trial.names]
        attacks.append(lambda: [link_column_sets(trial, rng=chance)])
        attacks += [
            lambda name=name: [infer_attribute(trial, name, rng=chance)] for name in secrets
        ]
    findings: list[Finding] = []
    for number, attack in enumerate(attacks):
        progress("attacks", number, len(attacks))
        findings += attack()
    return [_without_example(found) for found in findings]


def attack_rows(
    published: Codes,
    drawn_anew: Codes,
    people: Codes,
    columns: Sequence[CodedColumn],
    *,
    label: str,
    chance: Generator,
) -> Finding:
    """Return whether rows are nearer to people than others of the same model are."""
    known = _to_records(people, columns)
    trial = SyntheticTrial(
        tuple(_make_feature(one) for one in columns),
        _to_records(_cap_rows(published, chance), columns),
        known,
        known,
        label,
        without=_to_records(_cap_rows(drawn_anew, chance), columns),
    )
    return _without_example(find_closest_people(trial, rng=chance))


def _without_example(found: Finding) -> Finding:
    """Return a finding without its example, which shows codes that say nothing to a reader."""
    return replace(found, _example=())


def judge_strictly(found: Finding, tolerance: Mapping[str, float]) -> Finding:
    """Return the finding held against a tolerance; it exceeds if that is nearly certain.

    The intervals of both shares are taken at the confidence of a refusal (Newcombe 1998, method 10).
    """
    judged = judge(found, tolerance)
    if not judged.exceeds:
        return judged
    others = int(found.details.get("control_targets", found.targets))
    reference = max(found.baseline or 0.0, found.control or 0.0)
    low = wilson(round(found.rate * found.targets), found.targets, confidence=CONFIDENCE)[0]
    high = wilson(round(reference * others), others, confidence=CONFIDENCE)[1]
    below = float(np.hypot(found.rate - low, high - reference))
    return replace(judged, exceeds=found.rate - below > reference)


def _make_feature(column: CodedColumn) -> Feature:
    return Feature(
        column.name,
        column.is_ordered,
        has_gaps=True,
        span=float(max(1, column.missing - 1)),
        _values=() if column.is_ordered else tuple(map(str, range(column.size))),
    )


def _to_records(rows: Codes, columns: Sequence[CodedColumn]) -> Records:
    values = rows.T.astype(np.float64)
    for place, column in enumerate(columns):
        values[place][values[place] == column.missing] = np.nan
    return Records(values)


@dataclass(frozen=True)
class RowCounter:
    """Counts rows of codes in memory, for tables that only the custodian sees."""

    rows: Codes
    sizes: Sequence[int]
    sensitivity: int = 1
    one: int = 1

    def count(
        self, columns: Sequence[tuple[int, ...]], maps: Sequence[NDArray[np.intp]] | None
    ) -> list[NDArray[np.int64]]:
        """Return the counts of each of `columns`, of values or of the codes that `maps` gives them."""
        rows, sizes = self.rows, list(self.sizes)
        if maps is not None:
            rows = np.stack([codes[rows[:, place]] for place, codes in enumerate(maps)], axis=1)
            sizes = [int(codes.max()) + 1 for codes in maps]
        found: list[NDArray[np.int64]] = []
        for some in columns:
            shape = [sizes[one] for one in some]
            places = np.ravel_multi_index(tuple(rows[:, one] for one in some), shape)
            counted = np.bincount(places, minlength=int(np.prod(shape)))
            found.append(counted.reshape(shape).astype(np.int64))
        return found


def limit_rows(units: NDArray[np.int64], most: int, chance: Generator) -> NDArray[np.bool_]:
    """Return which rows are kept so that no unit has more than `most`, by chance.

    >>> limit_rows(np.array([7, 7, 8]), 1, np.random.default_rng(1)).sum()
    np.int64(2)
    """
    mixed = chance.permutation(len(units))
    order = mixed[np.argsort(units[mixed], kind="stable")]
    ordered = units[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(units) else order
    sizes = np.diff(np.r_[starts, len(units)])
    ranks = np.arange(len(units)) - np.repeat(starts, sizes)
    kept = np.zeros(len(units), bool)
    kept[order] = ranks < most
    return kept


@dataclass(frozen=True)
class CandidateRows:
    """Rows that are about to be published.

    Attributes:
        domain: The domain of their columns.
        codes: The rows as codes.
        table: The source, where it is.
        draw_anew: Draws so many other rows of the same model.
        label: What the table is called.
    """

    domain: TableDomain
    codes: Codes
    table: Table
    draw_anew: Callable[[int], Codes]
    label: str


@dataclass(frozen=True)
class SyntheticCandidate(CandidateRows):
    """A table that is about to be published, and how others like it are made.

    Attributes:
        unit: The source's column that says whose rows they are.
        make_table: Makes codes of rows and their units in the way `codes` were made.
    """

    unit: str | None
    make_table: Callable[[Codes, NDArray[np.int64]], Codes]


def list_attacks(domain: TableDomain, gate: Gate) -> tuple[str, ...]:
    """Return the attacks that the gate tries, by what is public: too few people make none of them possible."""
    names = {column.name for column in domain.columns}
    is_several = len(names) > 1
    has_secret = is_several and bool(names & {*gate.asked.with_role(model.ColumnRole.SENSITIVE)})
    found = {
        "attribute": has_secret,
        "closest": True,
        "composition": bool(gate.earlier),
        "linkability": is_several,
        "membership": True,
        "singling-out": True,
    }
    return tuple(name for name, is_tried in found.items() if is_tried)


def attack_synthetic(
    candidate: SyntheticCandidate, gate: Gate, chance: Generator, *, progress: Progress
) -> GateResult:
    """Attack a synthetic table, alone and together with earlier releases; return what was found.

    Raises:
        RiskNotTolerated: An attack learns more than is tolerated, and the risk was not accepted.
    """
    domain = candidate.domain
    progress("reading people", 0, 1)
    kept = [column.name for column in domain.columns] if gate.earlier else []
    source, raw = read_people(
        candidate.table, domain, unit=candidate.unit, kept=kept, chance=chance
    )
    progress("twin", 0, 1)
    twin = make_twin(source, candidate.make_table, chance)
    if twin is None:
        return GateResult(cautions=(TOO_FEW,))
    return attack_candidate(candidate, twin, (source, raw), gate, chance, progress=progress)


def attack_candidate(
    candidate: CandidateRows,
    twin: TwinTable,
    known: tuple[CodedPeople, ArrowTable],
    gate: Gate,
    chance: Generator,
    *,
    progress: Progress,
) -> GateResult:
    """Attack rows and their twin; `known` are the source's rows as codes, and as they are."""
    asked, columns, label = gate.asked, candidate.domain.columns, candidate.label
    source, raw = known
    secrets = asked.with_role(model.ColumnRole.SENSITIVE)
    findings = attack_twin(
        twin, columns, label=label, sensitive=secrets, chance=chance, progress=progress
    )
    progress("published rows", 0, 1)
    anew = candidate.draw_anew(min(len(candidate.codes), MOST_ROWS))
    people = source.rows[twin.is_attacked]
    findings.append(attack_rows(candidate.codes, anew, people, columns, label=label, chance=chance))
    together = GateResult()
    if gate.earlier:
        progress("earlier releases", 0, 1)
        together = _attack_with_earlier(candidate, twin, raw, gate, chance)
    stated = release_tolerance(asked)
    return gate.decide(
        [*findings, *together.findings],
        together.cautions,
        tolerance=stated if DEFAULT in asked.tolerance else {**TOLERANCE, **stated},
        not_tried=together.not_tried,
        judged_by=judge_strictly,
    )


def read_people(
    table: Table,
    domain: TableDomain,
    *,
    unit: str | None,
    kept: Sequence[str],
    chance: Generator,
) -> tuple[CodedPeople, ArrowTable]:
    """Return rows of the source as codes, all or a sample, and the columns `kept` of the same rows.

    The same rows give the same order, however the engine returns them.
    """
    counted = build.select(build.alias_as(build.count_star(), "n"), source=table.relation.copy())
    is_all = int(table.engine.run(counted)["n"][0].as_py()) <= MOST_ROWS
    codes = [
        build.alias_as(column.code(build.column(column.name)), f"c{place}")
        for place, column in enumerate(domain.columns)
    ]
    others = [build.alias_as(build.column(name), f"r{place}") for place, name in enumerate(kept)]
    person = [] if unit is None else [build.alias_as(build.column(unit), "u")]
    query = build.select(*codes, *others, *person, source=table.relation.copy())
    if not is_all:
        query = query.order_by(exp.Rand()).limit(MOST_ROWS)
    found = table.engine.run(query)
    rows = np.stack(
        [found[f"c{place}"].to_numpy().astype(np.int32) for place in range(len(codes))], axis=1
    )
    units = np.arange(len(rows))
    if unit is not None:
        texts = found["u"].cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False)
        units = np.unique(texts.astype(str), return_inverse=True)[1]
    order = (
        chance.permutation(len(rows))[np.argsort(np.lexsort((*rows.T, units)))]
        if is_all
        else (np.arange(len(rows)))
    )
    raw = found.select([f"r{place}" for place in range(len(kept))]).rename_columns(list(kept))
    return CodedPeople(rows[order], units[order].astype(np.int64), is_all), raw.take(order)


def _attack_with_earlier(
    candidate: CandidateRows,
    twin: TwinTable,
    raw: ArrowTable,
    gate: Gate,
    chance: Generator,
) -> GateResult:
    """Return what a twin and earlier releases reveal together of its people, beyond what of others."""
    with ScratchEngine(candidate.table.engine) as scratch:
        before = read_earlier(gate.earlier, engine=scratch)
        # What is made up is known of no one.
        rows = candidate.domain.decode(twin.rows, chance).select(raw.column_names)
        table = _load_table(scratch, rows, candidate.label)
        results: list[GateResult] = []
        for is_meant in (~twin.is_other, twin.is_other):
            places = chance.permutation(np.flatnonzero(is_meant & twin.is_attacked))[:MOST_PEOPLE]
            people = _load_table(scratch, raw.take(places), candidate.label)
            known = _know_people(people, gate.asked, before)
            results.append(attack_jointly(known, table, before))
    found, of_others = results
    controls = {one.title: one for one in of_others.findings}
    compared = tuple(_compare_findings(one, controls.get(one.title)) for one in found.findings)
    return replace(found, findings=compared)


def _know_people(people: Table, asked: model.TablePolicy, before: EarlierReleases) -> KnownPeople:
    names = [column.name for column in people.columns]
    quasi = [n for n in asked.with_role(model.ColumnRole.QUASI_IDENTIFIER) if n in names]
    sensitive = [n for n in asked.with_role(model.ColumnRole.SENSITIVE) if n in names]
    expected = known_from_earlier(before, names, asked)
    return KnownPeople(
        people,
        quasi,
        sensitive,
        [name for name in names if name not in (*quasi, *sensitive)],
        hierarchies_of(asked),
        promised_k(asked),
        [name for name in expected if name in names and name not in quasi],
    )


def _compare_findings(found: Finding, of_others: Finding | None) -> Finding:
    """Return a finding with what the same attack reaches on people who were set aside."""
    control = of_others.rate if of_others is not None else 0.0
    reference = max(found.baseline or 0.0, control)
    advantage = max(0.0, (found.rate - reference) / (1 - reference)) if reference < 1 else 0.0
    return replace(
        found,
        control=control,
        advantage=advantage,
        verdict=f"{found.verdict} Of people who are not in it: {format_percent(control)}.",
        details={**found.details, "control_targets": of_others.targets if of_others else 0},
    )


def _load_table(engine: Engine, rows: ArrowTable, label: str) -> Table:
    relation = engine.load(rows.to_reader())
    return Table(engine, relation, engine.columns(relation), label)
