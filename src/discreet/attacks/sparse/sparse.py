"""Sparse linkage: a few ratings, purchases or places known of a person single out a whole history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.sparse.scoreboard import (
    ItemIndex,
    Nearness,
    Scores,
    compute_scoreboard,
    make_nearness,
)
from discreet.attacks.sparse.transactions import (
    Targets,
    TransactionColumns,
    TransactionRelease,
    read_release,
    read_targets,
)
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent

PHIS = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
CONTROLS = 5_000
_REMEDY = (
    "Hardly anything keeps such a table useful and safe: publish counts with differential privacy "
    "instead. Fewer rows per person, coarser dates and values, and no rare items make it harder."
)


@dataclass(frozen=True)
class SparseOptions:
    """When a record is claimed, and how wrong values and days may be."""

    eccentricity: float = 1.5
    value_tolerance: float = 1.5
    day_tolerance: float = 30.0


def find_sparse(
    table: Table,
    known: Table,
    parts: TransactionColumns,
    *,
    chance: np.random.Generator,
    terms: SparseOptions | None = None,
    known_person: str | None = None,
    truth: str | None = None,
) -> Finding:
    """Return who of `known` is found in a release of transactions, and how clearly.

    Args:
        table: The release: a row for each action of a person.
        known: The same columns, for a few things of each target, right or wrong.
        parts: Which columns say who, what, how much and when.
        chance: Draws the control group.
        terms: When a record is claimed, and what may be wrong.
        known_person: The column of `known` that names the targets, where it has another name.
        truth: The column of `known` with the target's pseudonym in the release, empty when absent.
    """
    terms = terms or SparseOptions()
    release = read_release(table, parts, value_tolerance=terms.value_tolerance)
    named = TransactionColumns(known_person or parts.person, parts.item, parts.value, parts.date)
    targets = read_targets(known, named, release, truth=truth)
    nearness = make_nearness(
        value_tolerance=terms.value_tolerance,
        day_tolerance=terms.day_tolerance,
        has_values=parts.value is not None,
        has_days=parts.date is not None,
        step=release.step,
    )
    scores = compute_scoreboard(release.index, targets.points, nearness)
    control = _control_rate(release.index, targets, scores, nearness, terms, chance)
    return _build_finding(release, targets, scores, control, terms, parts)


def find_unicity(
    table: Table,
    parts: TransactionColumns,
    *,
    points: Sequence[int] = (1, 2, 3, 4),
    chance: np.random.Generator,
    sample: int = 2_000,
) -> Finding:
    """Return how many people of a release are the only ones with `points` of their rows.

    People with fewer rows than the largest of `points` are not asked about.

    What is known is exact: item, value and day (de Montjoye, Hidalgo, Verleysen & Blondel 2013).
    """
    release = read_release(table, parts, value_tolerance=1.0)
    shares, people = _sample_unicity(release.index, sorted(set(points)), chance, sample)
    most = max(shares)
    unique = round(shares[most] * people)
    by_count = ", ".join(f"{format_percent(share)} with {count}" for count, share in shares.items())
    return make_finding(
        "sparse",
        target=table.label,
        verdict=(
            f"{format_percent(shares[most])} of people in {table.label} are alone with {most} of their rows, "
            f"picked at random ({by_count})."
        ),
        targets=people,
        exposed=unique,
        certainty=1.0,
        knowledge=f"{format_count(most, 'row', 'rows')} of a person: {_word_columns(parts)}, exactly.",
        remedy=_REMEDY,
        details={
            "unicity": {str(count): share for count, share in shares.items()},
            "people": release.index.people,
            "items": len(release.items),
            "sampled": people,
        },
    )


def _control_rate(
    index: ItemIndex,
    targets: Targets,
    scores: Scores,
    nearness: Nearness,
    terms: SparseOptions,
    chance: np.random.Generator,
) -> float:
    """Return how many would be claimed if their record were not there: all of them wrongly.

    Where the record is not known, the one that would be claimed is taken out.
    """
    some = np.arange(len(targets.points))
    if len(some) > CONTROLS:
        some = np.sort(chance.choice(some, CONTROLS, replace=False))
    without = np.full(len(targets.points), -1, np.int32)
    without[some] = np.where(targets.truth[some] == -2, scores.best[some], targets.truth[some])
    points = targets.points
    chosen = np.isin(np.arange(len(points)), some)
    lengths = np.where(chosen, np.diff(points.starts), 0)
    kept = np.repeat(chosen, np.diff(points.starts))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    fewer = type(points)(starts, points.items[kept], points.values[kept], points.days[kept])
    again = compute_scoreboard(index, fewer, nearness, left_out=without)
    return float((again.eccentricity[some] > terms.eccentricity).mean())


def _build_finding(
    release: TransactionRelease,
    targets: Targets,
    scores: Scores,
    control: float,
    terms: SparseOptions,
    parts: TransactionColumns,
) -> Finding:
    claims = _claimed_targets(scores, terms.eccentricity)
    claimed = int(claims.sum())
    is_right = scores.best == targets.truth
    correct = int((claims & is_right).sum()) if targets.has_truth else None
    exposed = claimed if correct is None else correct
    total = len(targets.points)
    rightly = f", {correct:,} of them rightly" if correct is not None else ""
    return make_finding(
        "sparse",
        target=release.label,
        verdict=(
            f"{claimed:,} of {format_count(total, 'person', 'people')} are claimed to be found among "
            f"{release.index.people:,} in {release.label}{rightly}: with each comes everything else that "
            "the release has of the same person."
        ),
        targets=total,
        exposed=exposed,
        claimed=claimed,
        correct=correct,
        baseline=1 / release.index.people,
        control=control,
        certainty=float(scores.certainty[claims].mean()) if claimed else None,
        knowledge=_word_knowledge(targets, parts, terms),
        remedy=_REMEDY,
        details=_build_details(release, targets, scores, terms),
        example=_build_example(release, targets, scores, claims),
    )


def _claimed_targets(scores: Scores, phi: float) -> NDArray[np.bool_]:
    return (scores.best >= 0) & (scores.eccentricity > phi)


def _build_details(
    release: TransactionRelease, targets: Targets, scores: Scores, terms: SparseOptions
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "people": release.index.people,
        "items": len(release.items),
        "rows": len(release.index.holders),
        "points_per_target": float(np.diff(targets.points.starts).mean()),
        "eccentricity": terms.eccentricity,
        "entropy_before": float(np.log2(release.index.people)),
        "entropy_after": float(scores.entropy.mean()),
    }
    is_there, is_absent = targets.truth >= 0, targets.truth == -1
    if targets.has_truth:
        right = scores.best == targets.truth
        found["absent"] = int(is_absent.sum())
        found["best_is_right"] = float(right[is_there].mean()) if is_there.any() else None
    table: list[dict[str, Any]] = []
    for phi in PHIS:
        claims = _claimed_targets(scores, phi)
        row: dict[str, Any] = {"eccentricity": phi, "claimed": int(claims.sum())}
        if targets.has_truth:
            row["correct"] = int((claims & (scores.best == targets.truth)).sum())
            row["false_on_absent"] = int((claims & is_absent).sum())
        table.append(row)
    return {**found, "by_eccentricity": table}


def _word_knowledge(targets: Targets, parts: TransactionColumns, terms: SparseOptions) -> str:
    count = np.diff(targets.points.starts)
    rows = f"{int(count.min()):,}" if count.min() == count.max() else f"about {count.mean():.0f}"
    slack: list[str] = []
    if parts.value is not None:
        slack.append(f"'{parts.value}' off by about {terms.value_tolerance:g}")
    if parts.date is not None:
        slack.append(f"'{parts.date}' off by about {terms.day_tolerance:g} days")
    allowed = f", {' and '.join(slack)}" if slack else ""
    return f"{rows} rows of each person ({_word_columns(parts)}), some of them wrong{allowed}."


def _word_columns(parts: TransactionColumns) -> str:
    return " with ".join(name for name in (parts.item, parts.value, parts.date) if name)


def _build_example(
    release: TransactionRelease, targets: Targets, scores: Scores, claims: NDArray[np.bool_]
) -> tuple[str, ...]:
    if not claims.any():
        return ()
    target = int(np.argmax(np.where(claims, scores.eccentricity, -np.inf)))
    found = int(scores.best[target])
    rows = int((release.index.holders == found).sum())
    is_right = targets.truth[target] == found
    verdict = (
        "" if targets.truth[target] == -2 else (" It is right." if is_right else " It is wrong.")
    )
    fits = (
        f"{targets.names[target].as_py()} fits {release.people[found].as_py()} best: score "
        f"{scores.top[target]:.2f}, the next {scores.second[target]:.2f}, which is "
        f"{scores.eccentricity[target]:.1f} standard deviations less.{verdict}"
    )
    return (
        fits,
        f"The release has {format_count(rows, 'row', 'rows')} of {release.people[found].as_py()}.",
    )


def _sample_unicity(
    index: ItemIndex, counts: Sequence[int], chance: np.random.Generator, sample: int
) -> tuple[dict[int, float], int]:
    """Return the share of sampled people that are alone, by number of points, and how many they are."""
    keys, starts, holders = _exact_points(index)
    order = np.argsort(holders, kind="stable")
    owned = np.searchsorted(holders[order], np.arange(index.people + 1))
    enough = np.flatnonzero(np.diff(owned) >= max(counts))
    if not len(enough):
        raise WrongUsage(
            f"No person has {max(counts):,} different rows; the most of one person are "
            f"{int(np.diff(owned).max(initial=0)):,}. Ask for fewer with --points."
        )
    chosen = chance.choice(enough, min(sample, len(enough)), replace=False)
    alone = dict.fromkeys(counts, 0)
    for person in chosen:
        mine = keys[order[owned[person] : owned[person + 1]]]
        picked = chance.permutation(mine)[: max(counts)]
        for count in counts:
            alone[count] += _count_shared_holders(picked[:count], starts, holders) == 1
    return {count: found / len(chosen) for count, found in alone.items()}, len(chosen)


def _exact_points(
    index: ItemIndex,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return points (item, value and day together) with their holders, each once, by point."""
    items = np.repeat(np.arange(len(index.starts) - 1), np.diff(index.starts))
    key = items.astype(np.int64)
    for column in (index.values, index.days):
        _, codes = np.unique(column, return_inverse=True)
        _, key = np.unique(key * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    pairs = np.unique(key * index.people + index.holders)
    keys, holders = pairs // index.people, pairs % index.people
    starts = np.searchsorted(keys, np.arange(int(keys.max(initial=-1)) + 2))
    return keys, starts, holders


def _count_shared_holders(
    picked: NDArray[np.int64], starts: NDArray[np.int64], holders: NDArray[np.int64]
) -> int:
    """Return how many people have all the picked points."""
    columns = sorted((holders[starts[key] : starts[key + 1]] for key in picked), key=len)
    left = columns[0]
    for column in columns[1:]:
        left = left[np.isin(left, column, assume_unique=True)]
    return len(left)
