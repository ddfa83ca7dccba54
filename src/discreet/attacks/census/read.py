"""A block as it is written: a YAML or JSON file in, or all of its faults at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.attacks.census.block import (
    CensusBlock,
    CensusGroup,
    CountRange,
    Marginal,
    Statistic,
    StatisticBounds,
    Variable,
    Where,
)
from discreet.errors import SourceNotFound, WrongUsage, did_you_mean
from discreet.policy import document
from discreet.policy.document import Document, Place

KEYS = ("title", "people", "variables", "groups", "marginals", "impossible", "decimals")
OWN_KEYS = ("where", "count", "note")  # of a group; a variable cannot be called so
MOST_VALUES = 10_000
_WHOLE = re.compile(r"-?\d+")
_RANGE = re.compile(r"(-?\d+)?\.\.(-?\d+)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SPAN = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
_EXACT = re.compile(r"exactly\s+(-?\d+(?:\.\d+)?)")


def read_block(path: Path | str) -> CensusBlock:
    """Return the block in the file `path`.

    Raises:
        SourceNotFound: There is no such file.
        WrongUsage: The file has faults; every one of them is reported, with its line.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        near = did_you_mean(path.name, (other.name for other in path.parent.glob("*.[yj]*")))
        raise SourceNotFound(f"There is no file '{path}'.{near}") from None
    except (OSError, UnicodeDecodeError):
        raise WrongUsage(f"{path} cannot be read as text. Save it as UTF-8.") from None
    return parse_block(text, label=path.name)


def parse_block(text: str, *, label: str = "block") -> CensusBlock:
    """Return the block written in `text`.

    >>> block = parse_block('''
    ... people: 2
    ... variables: {age: 0..99, sex: [f, m]}
    ... groups:
    ...   - {where: {sex: f}, count: 1, age: {mean: 24.0}}
    ... ''')
    >>> block.size, block.groups[0].facts[0].low
    (200, Fraction(479, 20))
    """
    faults: list[tuple[int, str]] = []
    try:
        found = document.read_document(
            text,
            on_repeat=lambda line, place: faults.append(
                (line, f"key '{place[-1]}' is written twice. Keep one of them.")
            ),
        )
    except document.InvalidYaml as error:
        raise WrongUsage(f"{label}:{error.line}: {error.sentence}") from None
    if found is None or not isinstance(found.data, Mapping):
        raise WrongUsage(
            f"{label}:1: a block has keys such as 'people' and 'variables'; none is here."
        )
    reader = _BlockReader(found, faults)
    block = reader.block(found.data, label)
    if faults:
        lines = dict.fromkeys(f"{label}:{line}: {what}" for line, what in sorted(faults))
        raise WrongUsage("\n".join(lines))
    return block


@dataclass
class _BlockReader:
    """Turns what is written into a block, and notes every fault with its line."""

    document: Document
    faults: list[tuple[int, str]]
    variables: tuple[Variable, ...] = ()
    people: int = 0
    decimals: int | None = None
    places: dict[str, int] = field(default_factory=dict[str, int])

    def block(self, data: Mapping[str, Any], label: str) -> CensusBlock:
        for key in data:
            if key not in KEYS:
                self.fault((key,), f"unknown key '{key}'.{did_you_mean(key, KEYS)}")
        for key in ("people", "variables"):
            if key not in data:
                self.fault((), f"the key '{key}' is missing. Add it.")
        self.people = self._read_whole_number(data.get("people", "0"), ("people",))
        if data.get("people") == "0":
            self.fault(("people",), "a block needs people.")
        if data.get("variables") == {}:
            self.fault(("variables",), "a block needs a variable, such as age: 0..115.")
        if "decimals" in data:
            self.decimals = self._read_whole_number(data["decimals"], ("decimals",))
        self._read_variables(self._require_mapping(data.get("variables", {}), ("variables",)))
        groups = [
            self._group(item, ("groups", place))
            for place, item in enumerate(self._list(data.get("groups", []), ("groups",)))
        ]
        tables = [
            self._read_marginal(item, ("marginals", place))
            for place, item in enumerate(self._list(data.get("marginals", []), ("marginals",)))
        ]
        impossible = [
            self._read_condition(item, ("impossible", place))
            for place, item in enumerate(self._list(data.get("impossible", []), ("impossible",)))
        ]
        marginals = tuple(table for table in tables if table is not None)
        return CensusBlock(
            self.people, self.variables, tuple(groups), marginals, tuple(impossible), label
        )

    def fault(self, place: Place, sentence: str) -> None:
        self.faults.append((self.document.line(place), sentence))

    def _read_variables(self, written: Mapping[str, Any]) -> None:
        found: list[Variable] = []
        for name, values in written.items():
            place = ("variables", name)
            if name in OWN_KEYS:
                self.fault(place, f"a variable cannot be called '{name}'. Give it another name.")
            found.append(Variable(name, self._read_domain(values, place)))
        self.variables = tuple(found)
        self.places = {variable.name: place for place, variable in enumerate(found)}

    def _read_domain(self, written: Any, place: Place) -> tuple[int, ...] | tuple[str, ...]:
        if isinstance(written, list) and written and all(isinstance(v, str) for v in written):
            if len(set(written)) < len(written):
                self.fault(place, "a value is listed twice. List it once.")
            if all(value.lstrip("-").isdigit() for value in written):
                return tuple(sorted({int(value) for value in written}))
            return tuple(dict.fromkeys(written))
        try:
            bounds = read_count_range(written if isinstance(written, str) else "", None, None)
        except UnreadableNumber:
            bounds = None
        if bounds is None or bounds.high - bounds.low >= MOST_VALUES:
            self.fault(
                place,
                f"the values of '{place[-1]}' must be a range of at most {MOST_VALUES:,} whole numbers "
                "such as 0..115, or a list such as [female, male].",
            )
            return ("?",)
        return tuple(range(bounds.low, bounds.high + 1))

    def _group(self, written: Any, place: Place) -> CensusGroup:
        data = self._require_mapping(written, place)
        where = self._read_condition(data.get("where", {}), (*place, "where"))
        whole = CountRange(self.people, self.people)
        count = whole if not where else CountRange(0, self.people)
        if "count" in data:
            count = self._count(data["count"], (*place, "count"))
        facts: list[StatisticBounds] = []
        for name, statistics in data.items():
            if name not in OWN_KEYS:
                facts += self._read_statistics(name, statistics, (*place, name), count)
        if facts and count.high == 0:
            self.fault(place, "an empty group has no mean or median. Leave it out.")
        if facts:
            count = CountRange(max(1, count.low), max(1, count.high))
        return CensusGroup(where, count, tuple(facts))

    def _read_statistics(
        self, name: str, written: Any, place: Place, count: CountRange
    ) -> list[StatisticBounds]:
        variable = self.places.get(name)
        if variable is None:
            self.fault(
                place, f"unknown key '{name}'.{did_you_mean(name, (*OWN_KEYS, *self.places))}"
            )
            return []
        if not self.variables[variable].numbers:
            self.fault(
                place, f"'{name}' is no number, and has no mean or median. Count its values."
            )
            return []
        facts: list[StatisticBounds] = []
        for word, text in self._require_mapping(written, place).items():
            here = (*place, word)
            if word not in list(Statistic):
                self.fault(
                    here, f"unknown statistic '{word}'.{did_you_mean(word, list(Statistic))}"
                )
                continue
            if word == Statistic.MEDIAN and not count.is_exact:
                self.fault(here, "a median needs the exact 'count' of its group. Add it.")
            is_rounded = word in (Statistic.MEAN, Statistic.MEDIAN)
            try:
                low, high = read_printed_number(text, decimals=self.decimals, is_rounded=is_rounded)
            except UnreadableNumber as error:
                self.fault(here, str(error))
                continue
            facts.append(StatisticBounds(Statistic(word), variable, low, high))
        return facts

    def _read_marginal(self, written: Any, place: Place) -> Marginal | None:
        data = self._require_mapping(written, place)
        for key in data:
            if key not in ("of", "cells", "note"):
                self.fault(
                    (*place, key), f"unknown key '{key}'.{did_you_mean(key, ('of', 'cells'))}"
                )
        names = self._list(data.get("of", []), (*place, "of"))
        if not names or "cells" not in data:
            self.fault(place, "a cross table has 'of', a list of variables, and 'cells'.")
            return None
        unknown = [name for name in names if name not in self.places]
        for name in unknown:
            self.fault(
                (*place, "of"), f"unknown variable '{name}'.{did_you_mean(name, self.places)}"
            )
        if unknown:
            return None
        cells: dict[tuple[int, ...], CountRange] = {}
        listed = self._list(data["cells"], (*place, "cells"))
        for index, row in enumerate(listed):
            self._read_cell(row, names, (*place, "cells", index), cells)
        return Marginal(tuple(self.places[name] for name in names), cells)

    def _read_cell(
        self,
        row: Any,
        names: Sequence[str],
        place: Place,
        cells: dict[tuple[int, ...], CountRange],
    ) -> None:
        if not isinstance(row, list) or len(row) != len(names) + 1:
            shape = ", ".join([*names, "count"])
            self.fault(place, f"a cell is written [{shape}].")
            return
        found = [
            self._read_value_places(name, v, place) for name, v in zip(names, row[:-1], strict=True)
        ]
        key = tuple(values[0] for values in found if len(values) == 1)
        if len(key) < len(names):
            self.fault(place, "a cell has one value of each variable.")
        elif key in cells:
            self.fault(place, "this cell is listed twice. Keep one of them.")
        else:
            cells[key] = self._count(row[-1], place)

    def _read_condition(self, written: Any, place: Place) -> Where:
        where: dict[int, tuple[int, ...]] = {}
        for name, values in self._require_mapping(written, place).items():
            if name not in self.places:
                near = did_you_mean(name, self.places)
                self.fault((*place, name), f"unknown variable '{name}'.{near}")
                continue
            where[self.places[name]] = self._read_value_places(name, values, (*place, name))
        return where

    def _read_value_places(self, name: str, written: Any, place: Place) -> tuple[int, ...]:
        """Return the places of one value, of several in a list, or of a range of numbers."""
        variable = self.variables[self.places[name]]
        known = [str(value) for value in variable.values]
        found: list[int] = []
        for text in written if isinstance(written, list) else [written]:
            if text in known:
                found.append(known.index(text))
                continue
            try:
                low, high = read_variable_bounds(text, variable.numbers)
            except UnreadableNumber:
                near = did_you_mean(str(text), known)
                self.fault(place, f"'{name}' cannot be '{text}'.{near}")
                continue
            found += [i for i, number in enumerate(variable.numbers) if low <= number <= high]
        return tuple(dict.fromkeys(found))

    def _count(self, written: Any, place: Place) -> CountRange:
        try:
            return read_count_range(written, 0, self.people)
        except UnreadableNumber as error:
            self.fault(place, str(error))
            return CountRange(0, self.people)

    def _read_whole_number(self, written: Any, place: Place) -> int:
        if isinstance(written, str) and written.isdigit():
            return int(written)
        self.fault(place, f"'{place[-1]}' must be a whole number.")
        return 0

    def _require_mapping(self, written: Any, place: Place) -> Mapping[str, Any]:
        if isinstance(written, Mapping):
            return written
        self.fault(place, "keys and values are expected here, such as {sex: female}.")
        return {}

    def _list(self, written: Any, place: Place) -> Sequence[Any]:
        if isinstance(written, list):
            return written
        self.fault(place, f"'{place[-1]}' must be a list.")
        return []


class UnreadableNumber(Exception):
    """A text is no number of the kind that is expected; the message says which kind is."""


def read_count_range(written: Any, lowest: int | None, highest: int | None) -> CountRange:
    """Return a whole number or a range of them; an open end is `lowest` or `highest`.

    >>> read_count_range("0..2", 0, 7), read_count_range("3..", 0, 7)
    (CountRange(low=0, high=2), CountRange(low=3, high=7))
    """
    text = written.strip() if isinstance(written, str) else ""
    if _WHOLE.fullmatch(text):
        low = high = int(text)
    elif found := _RANGE.fullmatch(text):
        low = int(found[1]) if found[1] else lowest
        high = int(found[2]) if found[2] else highest
    else:
        raise UnreadableNumber(
            "a whole number such as 3, or a range such as 0..2, is expected here."
        )
    if low is None or high is None:
        raise UnreadableNumber("both ends of this range are needed, such as 0..115.")
    if low > high:
        raise UnreadableNumber("this range ends before it begins.")
    if (lowest is not None and low < lowest) or (highest is not None and high > highest):
        raise UnreadableNumber(f"this must be within {lowest}..{highest}, the number of people.")
    return CountRange(low, high)


def read_variable_bounds(written: Any, numbers: Sequence[int]) -> tuple[int, int]:
    """Return the ends of a range of a variable's numbers, such as `64..`.

    Raises:
        UnreadableNumber: It is no range, or one without any of the numbers.
    """
    found = _RANGE.fullmatch(written.strip()) if isinstance(written, str) else None
    if found is None or not numbers:
        raise UnreadableNumber("no range.")
    low = int(found[1]) if found[1] else min(numbers)
    high = int(found[2]) if found[2] else max(numbers)
    if not any(low <= number <= high for number in numbers):
        raise UnreadableNumber("no number is in this range.")
    return low, high


def read_printed_number(
    written: Any, *, decimals: int | None, is_rounded: bool
) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest number that is printed so.

    A rounded one stands for everything within half a unit of its last digit, or of `decimals` digits.

    >>> read_printed_number("36.7", decimals=None, is_rounded=True)
    (Fraction(733, 20), Fraction(147, 4))
    >>> read_printed_number("exactly 30", decimals=None, is_rounded=True)
    (Fraction(30, 1), Fraction(30, 1))
    """
    text = written.strip() if isinstance(written, str) else ""
    if found := _EXACT.fullmatch(text):
        return Fraction(found[1]), Fraction(found[1])
    if found := _SPAN.fullmatch(text):
        low, high = Fraction(found[1]), Fraction(found[2])
        if low > high:
            raise UnreadableNumber("this range ends before it begins.")
        return low, high
    if not _NUMBER.fullmatch(text):
        raise UnreadableNumber("a number such as 36.7, `exactly 30` or 36..37 is expected here.")
    number = Fraction(text)
    if not is_rounded:
        return number, number
    digits = decimals if decimals is not None else -int(Decimal(text).as_tuple().exponent)
    half = Fraction(1, 2 * 10**digits)
    return number - half, number + half
