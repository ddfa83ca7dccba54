"""Fuzzy linkage: who of a list is which row, where spellings differ and values are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.linkage.spec import LinkageSpec
from discreet.attacks.linkage.splink import Scored, score_record_pairs
from discreet.attacks.locating.dates import read_days
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.roles import require_column
from discreet.policy.hierarchies.values import text_of
from discreet.sql import build

_LABEL = r"\*|^\[.*[,-].*[\])]$"
_LOOKS_LIKE_DATE = r"\d[-/. ]+[\dA-Za-z]+[-/., ]+\d"
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Links:
    """Who is linked to which row: places in either table, and how sure each link is."""

    people: NDArray[np.int64]
    rows: NDArray[np.int64]
    chances: NDArray[np.float64]


def link_fuzzily(
    release: Table,
    people: Table,
    *,
    joined: LinkageSpec,
    threshold: float = 0.9,
    rng: np.random.Generator,
) -> Finding:
    """Return who of `people` is likely linked to a row of `release`, in spite of typos.

    Splink learns from the tables themselves how often columns agree by accident and how often they
    differ for one person. A link is claimed when its chance reaches `threshold` and it is the best of
    both sides; people with two equally good rows are not linked.
    """
    mine = _fetch_columns(
        people, list(joined.on), joined.identity and joined.identity[0], joined.name
    )
    theirs = _fetch_columns(
        release, list(joined.on.values()), joined.identity and joined.identity[1], *joined.sensitive
    )
    for table, columns in ((people, mine), (release, theirs)):
        if not len(next(iter(columns.values()))):
            raise EmptySource(f"{table.label} has no rows. Name a table with people in it.")
    sides = [
        _align_columns(mine[known], theirs[released], known)
        for known, released in joined.on.items()
    ]
    found = score_record_pairs(
        [side[0] for side in sides],
        [side[1] for side in sides],
        rng=rng,
    )
    links = _choose_links(found, threshold)
    return _build_finding(release, people, joined, found, links, mine, theirs, threshold=threshold)


def _fetch_columns(
    table: Table, names: Sequence[str], *others: str | None
) -> dict[str, ArrowArray]:
    wanted = dict.fromkeys([*names, *(name for name in others if name)])
    columns = [build.column(require_column(table, name).name) for name in wanted]
    found = table.engine.run(build.select(*columns, source=table.relation.copy()))
    return {name: pa.chunked_array(found[name]).combine_chunks() for name in wanted}


def _align_columns(
    mine: ArrowArray, theirs: ArrowArray, name: str
) -> tuple[ArrowArray, ArrowArray]:
    """Return a column of both sides in one form: dates, or texts in lower case."""
    texts = [pc.utf8_lower(pc.utf8_trim_whitespace(text_of(side))) for side in (mine, theirs)]
    blank = pa.scalar(None, pa.string())
    texts = [pc.if_else(pc.equal(text, ""), blank, text) for text in texts]
    if any(pc.any(pc.match_substring_regex(text, _LABEL)).as_py() for text in texts):
        raise WrongUsage(
            f"Column '{name}' holds labels such as 476** or [30, 40). Fuzzy linkage compares plain "
            "values: leave --fuzzy out."
        )
    if not all(_are_dates(text) for text in texts):
        return texts[0], texts[1]
    listed_once = [pc.dictionary_encode(text) for text in texts]
    values = [encoded.dictionary for encoded in listed_once]
    days = [read_days(values[side], beside=values[1 - side]) for side in (0, 1)]
    if days[0] is None or days[1] is None:
        return texts[0], texts[1]
    first, second = (
        pa.array(numbers.astype(np.int32), pa.int32()).cast(pa.date32()).take(encoded.indices)
        for numbers, encoded in zip((days[0], days[1]), listed_once, strict=True)
    )
    return first, second


def _are_dates(texts: ArrowArray) -> bool:
    present = texts.drop_null()
    return bool(
        len(present) and pc.all(pc.match_substring_regex(present, _LOOKS_LIKE_DATE)).as_py()
    )


def _choose_links(found: Scored, threshold: float) -> Links:
    likely = found.chances >= threshold
    people, rows = found.people[likely], found.rows[likely]
    chosen = assign_links(people, rows, found.weights[likely])
    return Links(people[chosen], rows[chosen], found.chances[likely][chosen])


def _build_finding(
    release: Table,
    people: Table,
    joined: LinkageSpec,
    found: Scored,
    links: Links,
    mine: dict[str, ArrowArray],
    theirs: dict[str, ArrowArray],
    *,
    threshold: float,
) -> Finding:
    size, rows = len(next(iter(mine.values()))), len(next(iter(theirs.values())))
    claimed = len(links.people)
    by = join_names(list(joined.on))
    are = "is" if claimed == 1 else "are"
    verdict = (
        f"{claimed:,} of {format_count(size, 'person', 'people')} in {people.label} {are} linked to one row "
        f"of {release.label} by {by}, typos and missing values allowed"
    )
    details: dict[str, Any] = {
        "on": list(joined.on.values()),
        "rows": rows,
        "threshold": threshold,
        "likely_pairs": int((found.chances >= threshold).sum()),
        "linked": claimed,
    }
    correct = control = None
    if joined.identity is not None:
        checked = _check_against_truth(
            links, mine[joined.identity[0]], theirs[joined.identity[1]], found, threshold
        )
        correct = checked.pop("correct")
        details |= checked
        control = checked["linked_absent"] / checked["absent"] if checked["absent"] else None
        verdict += f"; {correct:,} of these links are right"
    return make_finding(
        "linkage",
        target=release.label,
        verdict=f"{verdict}.",
        targets=size,
        exposed=claimed if correct is None else correct,
        claimed=claimed,
        correct=correct,
        knowledge=f"{by} of a person, about as {people.label} lists them; mistakes do no harm.",
        remedy=f"Publish {join_names(list(joined.on.values()))} coarser or not at all; typos do not protect.",
        baseline=1 / rows,
        control=control,
        certainty=float(links.chances.mean()) if claimed else None,
        details=details,
        example=_build_example(release, joined, links, mine, theirs),
    )


def _check_against_truth(
    links: Links, mine: ArrowArray, theirs: ArrowArray, found: Scored, threshold: float
) -> dict[str, Any]:
    """Return how right links and likely pairs are."""
    known, released = (pc.utf8_lower(pc.utf8_trim_whitespace(text_of(s))) for s in (mine, theirs))
    is_absent = ~pc.is_in(known, value_set=released.drop_null()).to_numpy(zero_copy_only=False)

    def right(people: NDArray[np.int64], rows: NDArray[np.int64]) -> int:
        same = pc.equal(known.take(pa.array(people)), released.take(pa.array(rows)))
        return int(pc.sum(same).as_py() or 0)

    likely = found.chances >= threshold
    correct, present = right(links.people, links.rows), int((~is_absent).sum())
    pairs = int(likely.sum())
    return {
        "correct": correct,
        "precision": round(correct / len(links.people), 6) if len(links.people) else None,
        "recall": round(correct / present, 6) if present else None,
        "pair_precision": round(right(found.people[likely], found.rows[likely]) / pairs, 6)
        if pairs
        else None,
        "absent": int(is_absent.sum()),
        "linked_absent": int(is_absent[links.people].sum()),
    }


def _build_example(
    release: Table,
    joined: LinkageSpec,
    links: Links,
    mine: dict[str, ArrowArray],
    theirs: dict[str, ArrowArray],
) -> list[str]:
    """Return a link in which something differs, if there is one: it shows what is forgiven."""
    if not len(links.people):
        return []
    differing = np.zeros(len(links.people), np.bool_)
    for known, released in joined.on.items():
        sides = [
            pc.utf8_lower(text_of(column)).take(pa.array(places))
            for column, places in ((mine[known], links.people), (theirs[released], links.rows))
        ]
        same = pc.fill_null(pc.equal(*sides), False).to_numpy(zero_copy_only=False)
        differing |= ~same
    index = int(np.argmax(differing))
    person, row = int(links.people[index]), int(links.rows[index])
    who = mine[joined.name][person].as_py() if joined.name else None
    known = [f"{name} {mine[name][person].as_py()}" for name in joined.on]
    there = [f"{name} {theirs[name][row].as_py()}" for name in joined.on.values()]
    lines = [
        f"Known: {who or 'a person'} has {', '.join(known)}.",
        f"In {release.label}: {', '.join(there)}; the same person with {format_percent(float(links.chances[index]))}.",
    ]
    lines += [f"{name}: {theirs[name][row].as_py()}." for name in joined.sensitive]
    return lines


def assign_links(people: Numbers, rows: Numbers, weights: NDArray[np.float64]) -> Numbers:
    """Return which pairs are links, so that no person has two rows and no row two people.

    In rounds, a pair becomes a link when its weight is the largest of its person and of its row, and
    of no other pair of theirs; both are then taken. A person with two equally good rows has none: to
    choose would be to guess.

    >>> assign_links(np.array([0, 0, 1]), np.array([7, 8, 8]), np.array([5.0, 3.0, 4.0])).tolist()
    [0, 2]
    """
    found: list[Numbers] = []
    left = np.arange(len(people))
    while len(left):
        best = _is_only_best(people[left], weights[left]) & _is_only_best(rows[left], weights[left])
        if not best.any():
            break
        chosen = left[best]
        found.append(chosen)
        taken = np.isin(people[left], people[chosen]) | np.isin(rows[left], rows[chosen])
        left = left[~taken]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _is_only_best(owners: Numbers, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which weights are the largest of their owner, and alone so."""
    _, inverse = np.unique(owners, return_inverse=True)
    largest = np.full(inverse.max() + 1, -np.inf)
    np.maximum.at(largest, inverse, weights)
    # What differs by rounding only is the same evidence.
    is_best = weights >= largest[inverse] - 1e-9
    count = np.bincount(inverse, weights=is_best)
    return is_best & (count[inverse] == 1)
