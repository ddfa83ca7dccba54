"""Rules that hold in every row, known without the data: dependencies, orders, sums, what never occurs."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from discreet.errors import InvalidPolicy


@dataclass(frozen=True)
class DeclaredDependency:
    """A column is a function of others, by a table that is public.

    `rows` has the values of `determinants`, in their order, and the value of `column` that goes with them. Where no
    row of it matches, `column` is missing. `file` is where the policy reads it from.

    >>> rule = DeclaredDependency("grade", ("school",), ((("primary", "1")), ("college", "3")))
    >>> rule.columns
    ('grade', 'school')
    """

    column: str
    determinants: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    file: str | None = None
    line: int | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rule."""
        return (self.column, *self.determinants)


@dataclass(frozen=True)
class DeclaredOrder:
    """Each column is at most the next one, where both have a value.

    >>> DeclaredOrder(("admitted", "discharged")).columns
    ('admitted', 'discharged')
    """

    columns: tuple[str, ...]
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class ValueCondition:
    """What a cell is: one of some values, a number or date below or above an end, or missing.

    >>> ValueCondition(values=("male",)).to_yaml_value()
    'male'
    """

    values: tuple[str, ...] = ()
    below: str | None = None
    above: str | None = None
    is_missing: bool = False

    def to_yaml_value(self) -> object:
        """Return the condition as the policy file writes it."""
        if self.values:
            return self.values[0] if len(self.values) == 1 else list(self.values)
        ends = {"below": self.below, "above": self.above}
        found: dict[str, object] = {name: end for name, end in ends.items() if end is not None}
        return found | ({"missing": True} if self.is_missing else {})


@dataclass(frozen=True)
class DeclaredImpossible:
    """No row meets all of these conditions, each on one column.

    >>> never = DeclaredImpossible((("sex", ValueCondition(("male",))), ("pregnant", ValueCondition(("true",)))))
    >>> never.columns
    ('sex', 'pregnant')
    """

    conditions: tuple[tuple[str, ValueCondition], ...]
    line: int | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rule."""
        return tuple(name for name, _ in self.conditions)


@dataclass(frozen=True)
class DeclaredSum:
    """A column is the sum of others; where one of them is missing, it is missing.

    >>> DeclaredSum("income", ("wages", "rents")).columns
    ('income', 'wages', 'rents')
    """

    total: str
    parts: tuple[str, ...]
    line: int | None = field(default=None, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the rule."""
        return (self.total, *self.parts)


DeclaredRule = DeclaredDependency | DeclaredOrder | DeclaredImpossible | DeclaredSum


def rule_value(rule: DeclaredRule) -> dict[str, object]:
    """Return a rule under its name, as the policy file writes it.

    >>> rule_value(DeclaredOrder(("admitted", "discharged")))
    {'order': ['admitted', 'discharged']}
    """
    match rule:
        case DeclaredOrder():
            return {"order": list(rule.columns)}
        case DeclaredSum():
            return {"sum": {"total": rule.total, "parts": list(rule.parts)}}
        case DeclaredImpossible():
            return {"never": {name: one.to_yaml_value() for name, one in rule.conditions}}
        case DeclaredDependency():
            names = rule.determinants
            determinants: object = names[0] if len(names) == 1 else list(names)
            by: dict[str, object] = (
                {"map": {one[0]: one[1] for one in rule.rows}}
                if rule.file is None
                else {"file": rule.file}
            )
            return {"dependency": {"from": determinants, "to": rule.column, **by}}


def rules_without(
    rules: tuple[DeclaredRule, ...], names: Collection[str]
) -> tuple[DeclaredRule, ...]:
    """Return the rules that name none of these columns."""
    return tuple(rule for rule in rules if not set(rule.columns) & set(names))


def read_rule_file(path: Path, *, file: str, width: int) -> tuple[tuple[str, ...], ...]:
    """Return the lines of a file of a dependency: the values that decide, and the value that follows.

    Separated by `;` or `,`, without a header, in UTF-8.

    Raises:
        InvalidPolicy: It is not there, not UTF-8, or has a line of another length or one twice.
    """
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InvalidPolicy(
            [f"file '{file}' is not there. Its path is relative to the policy file."]
        ) from None
    except (OSError, UnicodeDecodeError):
        raise InvalidPolicy([f"file '{file}' cannot be read as text in UTF-8."]) from None
    first = content.split("\n", 1)[0]
    reader = csv.reader(StringIO(content, newline=""), delimiter=";" if ";" in first else ",")
    rows: dict[tuple[str, ...], str] = {}
    for row in reader:
        if not row:
            continue
        if len(row) != width + 1:
            raise InvalidPolicy(
                [f"file '{file}', line {reader.line_num}: {len(row)} cells instead of {width + 1}."]
            )
        if tuple(row[:-1]) in rows:
            raise InvalidPolicy(
                [f"file '{file}', line {reader.line_num}: the same values again. Keep one line."]
            )
        rows[tuple(row[:-1])] = row[-1]
    if not rows:
        raise InvalidPolicy([f"file '{file}' is empty."])
    return tuple((*values, result) for values, result in rows.items())
