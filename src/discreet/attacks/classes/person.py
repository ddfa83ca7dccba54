"""One person: what a release makes an adversary believe about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from discreet.attacks.classes.inference import SURE
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.locating.locate import gather_combinations, locate
from discreet.attacks.manifest import hierarchies_of
from discreet.attacks.releases.intersection import build_value_dictionary, find_candidates
from discreet.criteria.criterion import TOLERANCE
from discreet.engines.connect import open_table
from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.roles import RoleBinding, require_column


@dataclass(frozen=True)
class PersonBelief:
    """What comes into question for one person, by a sensitive column: for the custodian only.

    Attributes:
        column: The sensitive column.
        rows: How many rows may be the person's.
        shares: How likely each value is, the likeliest first.
        prior: How likely it is without knowing anything of the person.
    """

    column: str
    rows: int
    shares: Mapping[str, float]
    prior: Mapping[str, float]


def infer_beliefs(bound: RoleBinding, person: Mapping[str, str]) -> tuple[PersonBelief, ...]:
    """Return what a release reveals about a person with these values, by sensitive column.

    Every row whose labels may stand for the values may be the person's, each as likely as another.

    >>> from discreet.attacks.classes.histograms import opened_release
    >>> release = pa.table({"age": ["3*", "3*", "4*"], "ill": ["flu", "gout", "acne"]})
    >>> with opened_release(release, quasi=["age"], sensitive=["ill"]) as bound:
    ...     dict(infer_beliefs(bound, {"age": "31"})[0].shares)
    {'flu': 0.5, 'gout': 0.5}
    """
    release = bound.subject.table
    for name in person:
        require_column(release, name)
    row = pa.table({name: pa.array([value], pa.string()) for name, value in person.items()})
    one = open_table(row)
    try:
        known = gather_combinations(one, list(person), engine=release.engine)
    finally:
        one.engine.close()
    names = [column.name for column in bound.subject.sensitive]
    located = locate(known, release, members=names, hierarchies=hierarchies_of(bound.policy))
    found: list[PersonBelief] = []
    for index, name in enumerate(names):
        words, prior = build_value_dictionary([located], index)
        left = find_candidates(located, words, index=index, people=1)
        order = np.lexsort((left.value, -left.rows))
        codes, rows = left.value[order].tolist(), left.rows[order].tolist()
        total = max(sum(rows), 1.0)
        shares = {words.text(code): one / total for code, one in zip(codes, rows, strict=True)}
        before = {words.text(code): float(prior[code]) for code in codes}
        found.append(PersonBelief(name, rows=int(sum(rows)), shares=shares, prior=before))
    return tuple(found)


def find_person(
    bound: RoleBinding,
    person: Mapping[str, str],
    *,
    attack: str = "inference",
    sure: float = SURE,
    knows: str | None = None,
) -> tuple[Finding, ...]:
    """Return whether a release reveals one person's sensitive values, by column.

    Args:
        bound: The release; without the rows that contradict what the adversary `knows`.
        person: The person's values, by released column.
        attack: Whose finding it is: `inference` or `background`.
        sure: How sure the adversary must be for the person to count.
        knows: What else it knows, in words.
    """
    target = bound.subject.table.label
    more = f"; besides, {knows}" if knows else ""
    return tuple(
        make_finding(
            attack,
            target=target,
            verdict=_word_verdict(one, sure),
            targets=1,
            exposed=int(_largest_share(one.shares) >= sure - TOLERANCE),
            certainty=_largest_share(one.shares) if one.shares else None,
            baseline=float(_largest_share(one.prior) >= sure - TOLERANCE),
            knowledge=f"The person's {join_names(list(person))}, and that the person is in the table{more}.",
            remedy=f"l-diversity or t-closeness for {one.column}, or fewer quasi-identifiers.",
            details={
                "columns": [one.column],
                "sure": sure,
                "rows": one.rows,
                "values": len(one.shares),
            },
            example=_build_example(one),
        )
        for one in infer_beliefs(bound, person)
    )


def _largest_share(shares: Mapping[str, float]) -> float:
    return max(shares.values(), default=0.0)


def _word_verdict(one: PersonBelief, sure: float) -> str:
    if not one.rows:
        return "No row of the release fits the person: nothing was learned."
    fit = f"{format_count(one.rows, 'row fits', 'rows fit')} the person"
    if _largest_share(one.shares) >= sure - TOLERANCE:
        return f"{fit}, and the adversary is {format_percent(_largest_share(one.shares))} sure of the {one.column}."
    values = format_count(len(one.shares), "value", "values")
    return f"{fit}, with {values} of {one.column}, none of them more likely than {format_percent(_largest_share(one.shares))}."


def _build_example(one: PersonBelief) -> tuple[str, ...]:
    return tuple(
        f"{one.column} {value}: {format_percent(share)} (before: {format_percent(one.prior[value])})"
        for value, share in list(one.shares.items())[:8]
    )
