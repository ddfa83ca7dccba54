"""Membership: was this person among those whose frequencies, or whose release, were published?"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.membership.evaluation import Hits, evaluate_scores, hits_above
from discreet.attacks.membership.marginals import (
    FrequencyColumns,
    Marginals,
    MembershipScores,
    read_counts,
    read_long_counts,
    read_marginals,
    score_alleles,
    score_values,
)
from discreet.attacks.sparse.transactions import encode_column
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent
from discreet.measure.roles import require_column
from discreet.sql import build

FALSE_ALARMS = 0.05  # among people who are not in the pool, of the adversary's own choosing
_YES = ("true", "1", "yes", "y", "t", "in")
_NO = ("false", "0", "no", "n", "f", "out", "")
_REMEDY = (
    "Frequencies with differential privacy (`discreet ask`), fewer attributes, or a larger pool: "
    "what is learned grows with attributes per person."
)


@dataclass(frozen=True)
class MembershipAttackOptions:
    """How the known people are written, and what else is known of the two tables of frequencies.

    Attributes:
        person: With `count`: a row for each person and attribute. Otherwise a row for each person.
        count: The column of genotypes in such rows.
        truth: The column that says who is in the pool.
        pool: How many people the published frequencies are of.
        reference: How many those of the reference are of.
    """

    person: str | None = None
    count: str | None = None
    truth: str | None = None
    pool: int | None = None
    reference: int | None = None


def find_membership(
    published: Table,
    known: Table,
    reference: Table,
    *,
    columns: FrequencyColumns | None = None,
    people: MembershipAttackOptions | None = None,
) -> Finding:
    """Return who of `known` can be recognized by published frequencies as one of the people behind them.

    Args:
        published: Frequencies of alleles, or of values of attributes, in the pool.
        known: People whose values the adversary has, of whom some are in the pool and some are not.
        reference: The same frequencies in a population without the pool.
        columns: Which columns of the frequencies say what.
        people: How the known people are written.
    """
    columns, people = columns or FrequencyColumns(), people or MembershipAttackOptions()
    marginals = read_marginals(published, reference, columns)
    scores = _score_people(known, marginals, columns, people)
    is_member = read_truth(known, people) if people.truth else None
    threshold = NormalDist().inv_cdf(1 - FALSE_ALARMS)
    details: dict[str, Any] = {
        "attributes": scores.attributes,
        "tested": len(scores.ratio),
        "threshold": threshold,
        **_theoretical_power(scores.attributes, people),
    }
    if is_member is not None:
        details["absent"] = int((~is_member).sum())
        details["likelihood_ratio"] = evaluate_scores(scores.standard, is_member)
        details["homer"] = evaluate_scores(scores.homer, is_member)
    return membership_finding(
        published.label,
        scores.standard,
        is_member,
        threshold=threshold,
        expected=FALSE_ALARMS,
        knowledge=(
            f"{format_count(scores.attributes, 'value', 'values')} of each person, and the frequencies in "
            f"a population without them ({reference.label})."
        ),
        remedy=_REMEDY,
        details=details,
        example=_build_example(scores, is_member),
    )


def membership_finding(  # noqa: PLR0913 -- the parts of a finding
    label: str,
    scores: NDArray[np.float64],
    is_member: NDArray[np.bool_] | None,
    *,
    threshold: float,
    expected: float | None,
    knowledge: str,
    remedy: str,
    details: dict[str, Any],
    example: tuple[str, ...] = (),
    certainty: float | None = None,
    baseline: float | None = None,
) -> Finding:
    """Return the finding of scores above a threshold.

    Where the truth is known, the rate is that of members found, and control that of others who are
    taken for members; `expected` stands in for control where it is not.
    """
    claimed = int((scores > threshold).sum())
    by_chance = "" if expected is None else f"; {format_percent(expected)} would be by chance"
    hits = hits_above(scores, is_member, threshold) if is_member is not None else None
    if hits is None:
        return make_finding(
            "membership",
            target=label,
            verdict=(
                f"{claimed:,} of {format_count(len(scores), 'person', 'people')} are claimed to be in "
                f"{label}{by_chance}."
            ),
            targets=len(scores),
            exposed=claimed,
            control=expected,
            baseline=baseline,
            certainty=certainty,
            knowledge=knowledge,
            remedy=remedy,
            details=details,
            example=example,
        )
    return make_finding(
        "membership",
        target=label,
        verdict=_word_verdict(label, hits),
        targets=hits.members,
        exposed=hits.found,
        claimed=claimed,
        correct=hits.found,
        control=hits.false_rate if hits.others else expected,
        baseline=baseline,
        certainty=certainty,
        interval=hits.interval,
        knowledge=knowledge,
        remedy=remedy,
        details={**details, "claims": hits.to_dict()},
        example=example,
    )


def read_truth(table: Table, people: MembershipAttackOptions) -> NDArray[np.bool_]:
    """Return who is in the pool, in the order of the people.

    Raises:
        WrongUsage: The column says anything but yes and no.
    """
    name = require_column(table, people.truth or "").name
    wanted = [build.alias_as(build.column(name), "truth")]
    if people.person is not None:
        person = require_column(table, people.person).name
        wanted.append(build.alias_as(build.column(person), "person"))
    rows = table.engine.run(build.select(*wanted, source=table.relation.copy()))
    found = says_yes(rows["truth"], name=name, label=table.label)
    if people.person is None:
        return found
    names, who = encode_column(rows["person"])
    per_person = np.zeros(len(names), bool)
    np.logical_or.at(per_person, who, found)
    return per_person


def says_yes(column: ArrowArray, *, name: str, label: str) -> NDArray[np.bool_]:
    """Return which cells of a column say yes, in one of the usual words."""
    texts, codes = encode_column(column)
    words = pc.utf8_lower(texts).fill_null("")
    if not all(word in (*_YES, *_NO) for word in words.to_pylist()):
        raise WrongUsage(
            f"Column '{name}' of {label} says more than who is in: expected true and false, or 1 and 0."
        )
    return np.array([word in _YES for word in words.to_pylist()], dtype=bool)[codes]


def _score_people(
    known: Table, marginals: Marginals, columns: FrequencyColumns, people: MembershipAttackOptions
) -> MembershipScores:
    sizes = people.pool, people.reference
    if columns.value is not None:
        return score_values(known, marginals, sizes=sizes)
    if (people.person is None) != (people.count is None):
        raise WrongUsage("A row per person and attribute needs both --person and --count.")
    if people.person is None or people.count is None:
        counts = read_counts(known, marginals)
        return score_alleles(counts, marginals.pool, marginals.reference, sizes=sizes)
    item = columns.item or known.columns[0].name
    names, counts = read_long_counts(
        known, marginals, person=people.person, item=item, count=people.count
    )
    return score_alleles(counts, marginals.pool, marginals.reference, sizes=sizes, names=names)


def _theoretical_power(attributes: int, people: MembershipAttackOptions) -> dict[str, float]:
    """Return what independent attributes allow, where sizes are known.

    Members are sqrt(m n_ref / (n (n + n_ref))) standard deviations ahead, which is sqrt(m / n) for an
    endless reference (Sankararaman et al. 2009) and sqrt(m / (n + n_ref)) for one as large as the pool.
    """
    n, reference = people.pool, people.reference
    if n is None or reference is None:
        return {}
    power = (attributes * reference / (n * (n + reference))) ** 0.5
    return {"auc_in_theory": NormalDist().cdf(power / 2**0.5)}


def _word_verdict(label: str, hits: Hits) -> str:
    return (
        f"{format_percent(hits.rate)} of {format_count(hits.members, 'person', 'people')} in {label} are claimed to be "
        f"in it, and {format_percent(hits.false_rate)} of {hits.others:,} who are not."
    )


def _build_example(
    scores: MembershipScores, is_member: NDArray[np.bool_] | None
) -> tuple[str, ...]:
    if not len(scores.standard):
        return ()
    best = int(np.argmax(scores.standard))
    who = (
        scores.names[best].as_py()
        if scores.names is not None
        else f"The person in row {best + 1:,}"
    )
    truth = ""
    if is_member is not None:
        truth = " It is right." if is_member[best] else " It is wrong."
    fits = (
        f"{who} fits the published frequencies best: log likelihood ratio {scores.ratio[best]:.1f}, "
        f"{scores.standard[best]:.1f} standard deviations above a person who is not in the pool.{truth}"
    )
    return (fits,)
