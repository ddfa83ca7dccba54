"""Differencing: which people's values follow exactly, or nearly, from a list of published answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.questions.elimination import PRIME, Certificate, determine_unknowns
from discreet.attacks.questions.published import Sum, summed_columns, sums_of
from discreet.engines.engine import Table
from discreet.sql import build

MOST_ATOMS = 300  # groups for which intervals are computed: each takes two linear programs
TRIPLES = 60  # questions of which all threes are looked at for a short certificate
REMEDY = (
    "Publish fewer or coarser groups, so that no difference of two is one person; or answer with noise "
    "out of a budget (`discreet ask`)."
)


@dataclass(frozen=True)
class Atoms:
    """The people who are in the same published groups, group by group.

    `members[i, j]` says whether group j is within the rows of sum i, `sizes[j]` how many people
    group j has, and `totals[j]` what their numbers add up to.
    """

    members: NDArray[np.bool_]
    sizes: NDArray[np.int64]
    totals: NDArray[np.float64]


@dataclass(frozen=True)
class Disclosed:
    """What sums of one kind disclose.

    Attributes:
        certificates: For each person whose number follows exactly, the combination of answers.
        widths: The width of each person's interval as a share of the bounds; None without bounds.
    """

    sums: tuple[Sum, ...]
    atoms: Atoms
    certificates: tuple[Certificate, ...]
    widths: NDArray[np.float64] | None = None


def audit_answers(
    questions: Sequence[exp.Select],
    table: Table,
    *,
    secrets: Sequence[str] = (),
    bounds: tuple[float, float] | None = None,
) -> list[Finding]:
    """Return who is disclosed by the answers to all of the questions together, once for each secret.

    A person's number follows exactly if and only if it is a linear combination of answers, which is
    decided by exact elimination (Chin & Özsoyoğlu 1982). With `bounds` on the numbers, how narrow
    they become is reported as well.

    Args:
        questions: What is published, as `published.read_questions` reads it.
        table: What it is about.
        secrets: Columns that must not be learned; by default those that are summed.
        bounds: The least and the largest value that a summed column is known to have.
    """
    hidden = list(secrets) or summed_columns(questions)
    sums, others = sums_of(questions, table, secrets=hidden)
    kinds: dict[str, list[Sum]] = {}
    for one in sums:
        if _is_mentioned(one.summand, hidden):
            kinds.setdefault(one.summand.sql(), []).append(one)
    found = [disclose(kind, table, bounds=bounds) for kind in kinds.values()]
    return [_build_finding(one, table, others, hidden) for one in found]


def disclose(
    sums: Sequence[Sum], table: Table, *, bounds: tuple[float, float] | None = None
) -> Disclosed:
    """Return what sums of the same summand disclose about single people."""
    atoms = atoms_of(sums, table)
    single = set(np.flatnonzero(atoms.sizes == 1).tolist())
    certain = [one for one in determine_unknowns(atoms.members) if one.unknown in single]
    short = _find_short_certificates(atoms, single)
    best = [short.get(one.unknown, one) for one in certain]
    is_plain = isinstance(sums[0].summand, exp.Column)
    widths = None
    if bounds is not None and is_plain and len(atoms.sizes) <= MOST_ATOMS:
        widths = interval_widths(atoms, bounds)
    return Disclosed(tuple(sums), atoms, tuple(best), widths)


def atoms_of(sums: Sequence[Sum], table: Table) -> Atoms:
    """Return the groups of people whom no published answer distinguishes."""
    names = [f"m{place}" for place in range(len(sums))]
    members = [
        build.alias_as(exp.func("COALESCE", exp.paren(one.where.copy()), exp.false()), name)
        for one, name in zip(sums, names, strict=True)
    ]
    summand = exp.cast(exp.paren(sums[0].summand.copy()), "DOUBLE")
    inner = build.select(*members, build.alias_as(summand, "v"), source=table.relation.copy())
    total = exp.func("COALESCE", exp.Sum(this=build.column("v")), build.number(0))
    query = build.select(
        *(build.column(name) for name in names),
        build.alias_as(build.count_star(), "n"),
        build.alias_as(total, "t"),
        source=build.subquery(inner, "rows"),
    ).group_by(*(build.column(name) for name in names))
    found = table.engine.run(query)
    columns = [found.column(name).to_numpy(zero_copy_only=False) for name in names]
    return Atoms(
        np.array(columns, dtype=bool).reshape(len(names), found.num_rows),
        found.column("n").to_numpy().astype(np.int64),
        found.column("t").to_numpy(zero_copy_only=False).astype(float),
    )


def _find_short_certificates(atoms: Atoms, single: set[int]) -> dict[int, Certificate]:
    """Return certificates of one, two or three answers, which a reader can check by head.

    Sets are compared by sums of fixed odd numbers modulo the prime, and what agrees is checked.
    """
    weights = np.random.default_rng(0).integers(1, PRIME, atoms.members.shape[1])
    wanted = {int(weights[place]): place for place in single}
    marks = [sum(weights[row].tolist()) % PRIME for row in atoms.members]
    places = range(len(marks))
    signs = [((1,), permutations(places, 1)), ((1, -1), permutations(places, 2))]
    if len(marks) <= TRIPLES:
        plus = ((i, j, k) for i, j in combinations(places, 2) for k in places if k not in (i, j))
        minus = ((i, j, k) for i in places for j, k in combinations(places, 2) if i not in (j, k))
        signs += [((1, 1, -1), plus), ((1, -1, -1), minus)]
    found: dict[int, Certificate] = {}
    for pattern, choices in signs:
        for chosen in choices:
            mark = sum(s * marks[i] for s, i in zip(pattern, chosen, strict=True)) % PRIME
            place = wanted.get(mark)
            if place is not None and place not in found:
                terms = tuple((Fraction(s), i) for s, i in zip(pattern, chosen, strict=True))
                found |= {place: Certificate(place, terms)} if _adds_up(atoms, terms, place) else {}
    return found


def _adds_up(atoms: Atoms, terms: Sequence[tuple[Fraction, int]], place: int) -> bool:
    added = sum(int(factor) * atoms.members[row].astype(int) for factor, row in terms)
    return bool((added == (np.arange(len(atoms.sizes)) == place)).all())


def interval_widths(atoms: Atoms, bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Return how wide the interval of one person in each group is, as a share of the bounds' width.

    The sum of a group lies between two linear programs' optima; one of its people between that and
    what the others can take (Fischetti & Salazar 2001).
    """
    from scipy.optimize import linprog

    low, high = bounds
    answers = atoms.members @ atoms.totals
    limits = np.stack([atoms.sizes * low, atoms.sizes * high], axis=1)
    widths = np.ones(len(atoms.sizes))
    for place, size in enumerate(atoms.sizes):
        aim = np.zeros(len(atoms.sizes))
        aim[place] = 1.0
        ends: list[float] = []
        for sign in (1, -1):
            solved = linprog(sign * aim, A_eq=atoms.members, b_eq=answers, bounds=limits)
            ends.append(sign * float(solved.fun) if solved.status == 0 else limits[place][sign < 0])
        least = max(low, ends[0] - (size - 1) * high)
        most = min(high, ends[1] - (size - 1) * low)
        widths[place] = max(0.0, most - least) / (high - low)
    return widths


def _build_finding(
    found: Disclosed, table: Table, others: Sequence[str], hidden: Sequence[str]
) -> Finding:
    people = int(found.atoms.sizes.sum())
    exposed = len(found.certificates)
    what = _word_summand(found.sums[0].summand, hidden)
    lengths = [len(one.terms) for one in found.certificates]
    details: dict[str, object] = {
        "questions": len({one.question for one in found.sums}),
        "answers": len(found.sums),
        "groups_apart": len(found.atoms.sizes),
        "shortest_certificate": min(lengths, default=None),
        "not_judged": sorted(set(others)),
        "means_taken_as_sums": any(one.is_mean for one in found.sums),
    }
    if found.widths is not None:
        widths = np.repeat(found.widths, found.atoms.sizes)
        details["median_interval"] = float(np.median(widths))
        details["within_a_tenth"] = int((widths <= 0.1).sum())
    return make_finding(
        "differencing",
        target=table.label,
        verdict=_word_verdict(what, exposed, people, details),
        targets=people,
        exposed=exposed,
        certainty=1.0 if exposed else None,
        queries=len(found.sums),
        knowledge="The published answers, and who is in which of their groups.",
        remedy=REMEDY,
        details=details,
        example=_build_example(found),
    )


def _word_verdict(what: str, exposed: int, people: int, details: dict[str, object]) -> str:
    if not exposed:
        return f"{what} of none of {people:,} people follows from the {details['answers']} answers."
    whom = "1 person follows" if exposed == 1 else f"{exposed:,} of {people:,} people follow"
    return (
        f"{what} of {whom} exactly from the {details['answers']} answers; "
        f"{details['shortest_certificate']} of them suffice."
    )


def _build_example(found: Disclosed) -> tuple[str, ...]:
    if not found.certificates:
        return ()
    shortest = min(found.certificates, key=lambda one: len(one.terms))
    answers = found.atoms.members @ found.atoms.totals
    lines: list[str] = []
    for coefficient, place in shortest.terms:
        one = found.sums[place]
        lines.append(f"{_format_coefficient(coefficient)} {answers[place]:,.10g}  {one.question}")
        if "GROUP BY" in one.question:
            lines.append(f"    for the group {one.where.sql(dialect='duckdb')}")
    lines.append(f"= {found.atoms.totals[shortest.unknown]:,.10g}, the number of one person")
    return tuple(lines)


def _format_coefficient(coefficient: Fraction) -> str:
    sign = "+" if coefficient > 0 else "-"
    return sign if abs(coefficient) == 1 else f"{sign} {abs(coefficient)} ×"


def _word_summand(summand: exp.Expr, hidden: Sequence[str]) -> str:
    """Return what is learned in words that hold no value."""
    names = [column.name for column in summand.find_all(exp.Column) if column.name in hidden]
    listed = " and ".join(f"'{name}'" for name in dict.fromkeys(names))
    return listed if isinstance(summand, exp.Column) else f"What is counted of {listed}"


def _is_mentioned(summand: exp.Expr, hidden: Sequence[str]) -> bool:
    return any(column.name in hidden for column in summand.find_all(exp.Column))
