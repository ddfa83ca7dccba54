"""Which known values each published label of a column may stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.locating.dates import read_days
from discreet.attacks.locating.labels import (
    MISSING,
    SUSPICIOUS,
    Anything,
    ComparisonKind,
    LabelMask,
    LabelMembers,
    LabelRange,
    Meaning,
    read_label,
    read_label_number,
)
from discreet.policy.hierarchies.values import is_text, text_of
from discreet.policy.hierarchy import Hierarchy, listed_domain

_PLAIN_NUMBER = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\s*$"


@dataclass(frozen=True)
class LabelMatches:
    """Labels of a column as slices of its known values, which are put in an order for that.

    Label `owners[i]` holds the values at places `starts[i]` to `stops[i]` (which is not held) of the
    order; several slices of one label are disjoint. `places[v]` is where value v is in the order.
    """

    domain: ComparisonKind
    places: NDArray[np.int64]
    labels: int
    owners: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    generalized: int = 0  # labels that hold more than one value by what they say
    suppressed: int = 0  # labels that hold anything
    unread: int = 0  # labels that could not be read, which hold any value as well
    hidden: tuple[int, ...] = ()  # which labels are suppressed

    @cached_property
    def cuts(self) -> NDArray[np.int64]:
        """The places between which no label distinguishes values."""
        is_part = (self.starts > 0) | (self.stops < len(self.places))
        return np.unique(np.concatenate([self.starts[is_part], self.stops[is_part]]))

    @cached_property
    def atoms(self) -> NDArray[np.int64]:
        """The number of each value's atom: values in one atom are in the same labels."""
        return np.searchsorted(self.cuts, self.places, side="right").astype(np.int64)

    @cached_property
    def atom_slices(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each slice in atoms: its first, and the first after it."""
        count = len(self.cuts) + 1
        first = np.searchsorted(self.cuts, self.starts, side="right")
        last = np.where(
            self.stops < len(self.places),
            np.searchsorted(self.cuts, self.stops, side="right"),
            count,
        )
        return first.astype(np.int64), last.astype(np.int64)


def match_labels(
    values: ArrowArray,
    labels: ArrowArray,
    *,
    hierarchy: Hierarchy | None = None,
    within: float = 0.0,
    missing_is_anything: bool = True,
) -> LabelMatches:
    """Return which of `values` each of `labels` may stand for.

    Args:
        values: What is known, distinct and not NULL.
        labels: What is published, distinct; NULL is a label.
        hierarchy: What the group names of a tree or of a lookup file mean.
        within: By how much a number, or by how many days a date, may be off.
        missing_is_anything: Whether NULL is a suppressed value, or holds nothing.

    >>> held = match_labels(pa.array([31, 35, 47]), pa.array(["[30, 40)", "47", "*"]))
    >>> sorted(zip(held.owners.tolist(), held.starts.tolist(), held.stops.tolist()))
    [(0, 0, 2), (1, 2, 3), (2, 0, 3)]
    """
    reader = _LabelMatcher.of(values, labels, within=within)
    found: list[tuple[int, int, int]] = []
    counts = {"generalized": 0, "suppressed": 0, "unread": 0}
    exact, rest = reader.exact(missing_is_anything=missing_is_anything)
    groups = _hierarchy_groups(values, labels, hierarchy) if hierarchy is not None else {}
    exact = exact[~np.isin(exact[:, 0], list(groups))]
    for label, members in groups.items():
        counts["generalized"] += 1
        found += [(label, start, stop) for start, stop in _to_slices(reader.places[members])]
    hidden: list[int] = []
    for label in rest:
        if label in groups:
            continue
        slices, kind = reader.slices(read_label(reader.label(label), reader.domain))
        counts[kind] += 1
        hidden += [label] if kind == "suppressed" else []
        found += [(label, start, stop) for start, stop in slices]
    triples = np.array(found, np.int64).reshape(-1, 3)
    owners, starts, stops = np.concatenate([exact, triples]).T
    return LabelMatches(
        reader.domain,
        reader.places,
        len(labels),
        owners,
        starts,
        stops,
        **counts,
        hidden=tuple(hidden),
    )


@dataclass(frozen=True)
class _LabelMatcher:
    """Known values in the orders in which labels are slices of them."""

    domain: ComparisonKind
    texts: ArrowArray  # of the known values, as they are compared: trimmed, in lower case
    labels: ArrowArray
    places: NDArray[np.int64]
    order: NDArray[np.int64]
    numbers: NDArray[np.float64] | None  # numbers or days of the values
    label_numbers: NDArray[np.float64]  # of labels that are plain; NaN elsewhere
    prefix: int | None = None  # all labels are the first so many digits
    within: float = 0.0

    @staticmethod
    def of(values: ArrowArray, labels: ArrowArray, *, within: float) -> _LabelMatcher:
        texts, label_texts = _normalize_texts(values), _normalize_texts(labels)
        if is_text(values.type) and pa.types.is_integer(labels.type):  # which lost their zeros
            texts = pc.replace_substring_regex(texts, r"^0+(\d+)$", r"\1")
        domain = ComparisonKind.TEXT
        numbers = _read_value_days(values, label_texts)
        if numbers is not None:
            domain = ComparisonKind.DATE
            own = _plain_days(labels, values)
        else:
            numbers = _read_value_numbers(values, texts)
            if numbers is not None and not (is_text(values.type) and is_text(labels.type)):
                domain = ComparisonKind.NUMBER
            own = _plain_numbers(label_texts)
        order = (
            np.argsort(numbers, kind="stable")
            if domain is not ComparisonKind.TEXT and numbers is not None
            else pc.sort_indices(texts).to_numpy().astype(np.int64)
        )
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        prefix = (
            _count_cut_digits(texts, label_texts) if domain is not ComparisonKind.DATE else None
        )
        order = order.astype(np.int64)
        return _LabelMatcher(
            domain, texts, label_texts, places, order, numbers, own, prefix, within
        )

    def label(self, index: int) -> str | None:
        """Return the text of a label, as a mask where all labels are the first few digits."""
        text: str | None = self.labels[index].as_py()
        if self.prefix is None or text is None or not text.isdigit():
            return text
        # Safe Harbor writes 000 for every area where few people live.
        return "*" if not text.strip("0") else text + "*" * self.prefix

    def exact(self, *, missing_is_anything: bool) -> tuple[NDArray[np.int64], Iterator[int]]:
        """Return the slices of labels that are plain values, and which labels are to be read."""
        is_null = self.labels.is_null().to_numpy(zero_copy_only=False)
        todo = is_null & missing_is_anything
        empty = np.empty((0, 3), np.int64)
        if self.prefix is not None:
            return empty, iter(np.flatnonzero(todo | ~is_null).tolist())
        if self.domain is ComparisonKind.TEXT:
            slices = self._equal_texts()
            odd = pc.fill_null(pc.match_substring_regex(self.labels, SUSPICIOUS), False)
            is_odd = odd.to_numpy(zero_copy_only=False) | _are_missing(self.labels)
            is_odd[slices[:, 0]] = False
            # A known value may look like a mask, but what is hidden is hidden.
            stars = pc.fill_null(pc.match_substring_regex(self.labels, r"\*"), False)
            starred = stars.to_numpy(zero_copy_only=False)
            slices = slices[~starred[slices[:, 0]]]
            return slices, iter(np.flatnonzero(todo | is_odd | starred).tolist())
        slices = self._equal_numbers()
        return slices, iter(
            np.flatnonzero(todo | (~is_null & np.isnan(self.label_numbers))).tolist()
        )

    def slices(self, meaning: Meaning | None) -> tuple[list[tuple[int, int]], str]:
        """Return the slices that a label holds, and how it was read."""
        everything = [(0, len(self.places))]
        match meaning:
            case Anything():
                return everything, "suppressed"
            case LabelRange():
                return self._range_slices(meaning), "generalized"
            case LabelMask():
                return self._mask_slices(meaning), "generalized"
            case LabelMembers():
                return self._member_slices(meaning), "generalized"
            case None:
                # In a column of words a word means itself, and no known person has it.
                return (
                    ([], "generalized")
                    if self.domain is ComparisonKind.TEXT
                    else (everything, "unread")
                )

    def _equal_texts(self) -> NDArray[np.int64]:
        sorted_texts = self.texts.take(pa.array(self.order))
        first = pc.fill_null(pc.index_in(self.labels, value_set=sorted_texts, skip_nulls=True), -1)
        starts = first.to_numpy(zero_copy_only=False).astype(np.int64)
        owners = np.flatnonzero(starts >= 0)
        # Values that differ in case only are neighbors in the order, and equal.
        sizes = pc.run_end_encode(sorted_texts) if len(sorted_texts) else None
        if sizes is None:
            return np.empty((0, 3), np.int64)
        ends = sizes.run_ends.to_numpy()
        stops = ends[np.searchsorted(ends, starts[owners], side="right")]
        return np.stack([owners, starts[owners], stops.astype(np.int64)], axis=1)

    def _equal_numbers(self) -> NDArray[np.int64]:
        if self.numbers is None:
            return np.empty((0, 3), np.int64)
        ordered = self.numbers[self.order]
        owners = np.flatnonzero(~np.isnan(self.label_numbers))
        wanted = self.label_numbers[owners]
        reach = 1.0 if self.domain is ComparisonKind.DATE else 0.0
        starts = np.searchsorted(ordered, wanted - self.within, side="left")
        last = wanted + reach + self.within
        stops = np.searchsorted(ordered, last, side="left" if reach else "right")
        slices = np.stack([owners, starts, stops], axis=1).astype(np.int64)
        return slices[stops > starts]

    def _range_slices(self, meaning: LabelRange) -> list[tuple[int, int]]:
        if self.numbers is None:
            return []
        order = self.order if self.domain is not ComparisonKind.TEXT else np.argsort(self.numbers)
        ordered = self.numbers[order]
        low, high = meaning.low - self.within, meaning.high + self.within
        start = np.searchsorted(ordered, low, "left" if meaning.has_low else "right")
        stop = np.searchsorted(ordered, high, "right" if meaning.has_high else "left")
        if stop <= start:
            return []
        if self.domain is not ComparisonKind.TEXT:
            return [(int(start), int(stop))]
        return _to_slices(self.places[order[start:stop]])

    def _mask_slices(self, meaning: LabelMask) -> list[tuple[int, int]]:
        texts = self._date_texts if self.domain is ComparisonKind.DATE else self.texts
        if self.domain is ComparisonKind.NUMBER:  # a number has lost the zeros before it
            texts = pc.utf8_lpad(texts, width=meaning.length, padding="0")
        is_match = pc.match_substring_regex(
            texts, f"^(?:{meaning.pattern.pattern})$", ignore_case=True
        )
        return _to_slices(self.places[np.flatnonzero(is_match.to_numpy(zero_copy_only=False))])

    @cached_property
    def _date_texts(self) -> ArrowArray:
        days = np.zeros(0) if self.numbers is None else np.floor(self.numbers)
        return pa.array(days.astype(np.int32), pa.date32()).cast(pa.string())

    def _member_slices(self, meaning: LabelMembers) -> list[tuple[int, int]]:
        wanted = _normalize_texts(pa.array(meaning.values, pa.string()))
        is_in = pc.is_in(self.texts, value_set=wanted)
        found = np.flatnonzero(is_in.to_numpy(zero_copy_only=False))
        if self.numbers is not None and self.domain is ComparisonKind.NUMBER:
            numbers = [read_label_number(member) for member in meaning.values]
            present = [number for number in numbers if number is not None]
            found = np.flatnonzero(np.isin(self.numbers, present))
        return _to_slices(self.places[found])


def _hierarchy_groups(
    values: ArrowArray, labels: ArrowArray, hierarchy: Hierarchy
) -> dict[int, NDArray[np.int64]]:
    """Return the values in each label that names a group of a listed hierarchy."""
    if listed_domain(hierarchy) is None:
        return {}
    missed = hierarchy.misses(values)
    known = pc.invert(pc.is_in(values, value_set=missed)).to_numpy(zero_copy_only=False)
    covered = np.flatnonzero(known)
    inside = values.take(pa.array(covered))
    texts = text_of(labels)
    found: dict[int, list[NDArray[np.int64]]] = {}
    named: set[int] = set()
    for level in range(hierarchy.height):
        places = pc.index_in(hierarchy.generalize(inside, level), value_set=texts, skip_nulls=True)
        owners = pc.fill_null(places, -1).to_numpy(zero_copy_only=False)
        for label in np.unique(owners[owners >= 0]).tolist():
            found.setdefault(label, []).append(covered[owners == label])
            if level:
                named.add(label)
    return {label: np.unique(np.concatenate(found[label])) for label in sorted(named)}


def _to_slices(places: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return places as slices, neighbors together."""
    if not len(places):
        return []
    ordered = np.sort(places)
    breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(ordered, breaks)]


def _normalize_texts(values: ArrowArray) -> ArrowArray:
    return pc.utf8_lower(pc.utf8_trim_whitespace(text_of(values)))


def _read_value_days(values: ArrowArray, labels: ArrowArray) -> NDArray[np.float64] | None:
    kind = values.type
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
        return pc.fill_null(days, np.nan).to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind):
        micros = values.cast(pa.timestamp("us", tz=kind.tz)).cast(pa.int64())
        micros = pc.fill_null(micros.cast(pa.float64()), np.nan)
        return micros.to_numpy(zero_copy_only=False) / 86_400e6
    present = _blank_missing_texts(values) if is_text(kind) else None
    looks = r"\d[-/. ]+[\dA-Za-z]+[-/., ]+\d"
    if present is None or not pc.all(pc.match_substring_regex(present, looks)).as_py():
        return None
    return read_days(present, beside=labels)


def _plain_days(labels: ArrowArray, values: ArrowArray) -> NDArray[np.float64]:
    """Return the days of labels that are dates, NaN for all others."""
    kind = labels.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        days = _read_value_days(labels, labels)
        return np.empty(0) if days is None else np.floor(days)
    texts = text_of(labels)
    is_date = pc.fill_null(
        pc.match_substring_regex(texts, r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d+:.*)?\s*$"),
        False,
    )
    found = np.full(len(texts), np.nan)
    days = read_days(texts.filter(is_date), beside=text_of(values))
    if days is not None:
        found[is_date.to_numpy(zero_copy_only=False)] = days
    return found


def _read_value_numbers(values: ArrowArray, texts: ArrowArray) -> NDArray[np.float64] | None:
    present = None if pa.types.is_boolean(values.type) else _blank_missing_texts(texts)
    if present is None or not pc.all(pc.match_substring_regex(present, _PLAIN_NUMBER)).as_py():
        return None
    return pc.fill_null(present.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)


def _plain_numbers(labels: ArrowArray) -> NDArray[np.float64]:
    is_number = pc.match_substring_regex(labels, _PLAIN_NUMBER)
    numbers = pc.if_else(pc.fill_null(is_number, False), labels, pa.scalar(None, pa.string()))
    return pc.fill_null(numbers.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)


def _count_cut_digits(texts: ArrowArray, labels: ArrowArray) -> int | None:
    """Return how many digits are cut off, where labels are the first three digits of ZIP codes."""
    present = labels.drop_null()
    if not len(present) or not len(texts):
        return None
    for side, pattern in ((present, r"^\d{3}$"), (texts, r"^\d{4,5}$")):
        if not pc.all(pc.match_substring_regex(side, pattern)).as_py():
            return None
    return 2


def _blank_missing_texts(texts: ArrowArray) -> ArrowArray | None:
    """Return texts with NULL for words that say a value is missing, or None where all do."""
    missing = pa.array(_are_missing(_normalize_texts(texts)))
    present = pc.if_else(missing, pa.scalar(None, pa.string()), texts.cast(pa.string()))
    return present if present.null_count < len(present) else None


def _are_missing(labels: ArrowArray) -> NDArray[np.bool_]:
    words = pa.array(sorted(MISSING), pa.string())
    return pc.is_in(labels, value_set=words).to_numpy(zero_copy_only=False)
