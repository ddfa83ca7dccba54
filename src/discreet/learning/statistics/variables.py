"""The columns of a statistic: coded from policy and schema alone, with words for their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from discreet.domain.binned_range import BinnedRange, RangePart
from discreet.domain.coded_column import CodedColumn
from discreet.domain.declared import (
    UndeclaredColumn,
    code_column,
    column_as_declared,
    undeclared_error,
)
from discreet.domain.listed_values import ListedValues
from discreet.engines.engine import Column
from discreet.errors import WrongUsage, did_you_mean
from discreet.formatting import join_names
from discreet.learning.features import is_on_scale
from discreet.learning.statistics.looks import CellAxis, keep_values
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy
from discreet.registry import OptionSpec

MOST_CATEGORIES = 100
MOST_CELLS = 10_000
GROUPS_OPTION = OptionSpec(
    "groups", "names", "Which groups, by their values. Default: all.", default=()
)
EVENT_OPTION = OptionSpec(
    "event", "text", "The value that means the event. Default: the last of two."
)


@dataclass(frozen=True)
class Variables:
    """The columns a statistic is computed of; all of it is public.

    Attributes:
        columns: What is measured, in the order that was asked for.
        by: The column of groups, if there are groups.
    """

    columns: tuple[CodedColumn, ...]
    by: CodedColumn | None = None


@dataclass(frozen=True)
class Groups:
    """The groups that are compared.

    Attributes:
        axis: The cell of each code.
        names: The values that groups are named by.
        column: Their column; None where all rows are one group.
    """

    axis: CellAxis
    names: tuple[str, ...]
    column: CodedColumn | None

    @property
    def columns(self) -> tuple[CodedColumn, ...]:
        """The column, if there is one."""
        return () if self.column is None else (self.column,)

    @property
    def axes(self) -> tuple[CellAxis, ...]:
        """The axis, if there is a column."""
        return () if self.column is None else (self.axis,)

    def label(self, group: int) -> dict[str, str]:
        """Return the name of a group by that of the column."""
        return {} if self.column is None else {self.column.name: self.names[group]}


def choose_variables(
    policy: TablePolicy, known: Sequence[Column], *, names: Sequence[str], by: str | None
) -> Variables:
    """Return the columns of a statistic, coded by what the policy declares of them.

    Raises:
        WrongUsage: A column names people, or is there twice.
        UndeclaredDomain: The values or bounds of some are not declared; all are named.
    """
    wanted = [*names, *([] if by is None else [by])]
    if not names:
        raise WrongUsage("Name what is measured: `--columns COLUMN`.")
    if len(set(wanted)) < len(wanted):
        raise WrongUsage("A column is named twice. Name each once.")
    by_name = {column.name: column for column in known}
    for name in wanted:
        _require_usable(name, policy)
    coded = [_code_variable(by_name[name], policy) for name in wanted]
    missing = [one for one in coded if isinstance(one, UndeclaredColumn)]
    if missing:
        raise undeclared_error(
            policy.name, missing, purpose="a statistic", alternatives="Or use other columns."
        )
    done = [one for one in coded if isinstance(one, CodedColumn)]
    return Variables(tuple(done[: len(names)]), done[-1] if by is not None else None)


def _require_usable(name: str, policy: TablePolicy) -> None:
    said = policy.column(name)
    if name == policy.unit or (said is not None and said.role.names_people):
        raise WrongUsage(
            f"'{name}' identifies people: a statistic of it would name them. Use other columns."
        )


def _code_variable(column: Column, policy: TablePolicy) -> CodedColumn | UndeclaredColumn:
    said = policy.column(column.name) or ColumnPolicy(column.name, ColumnRole.INSENSITIVE)
    return code_column(column_as_declared(column, said), said, None, None)


def require_columns(variables: Variables, kind: str, count: int) -> tuple[CodedColumn, ...]:
    """Return the columns, if there are as many as a kind takes.

    Raises:
        WrongUsage: There are more or less.
    """
    if len(variables.columns) != count:
        word = "column" if count == 1 else "columns"
        raise WrongUsage(
            f"The statistic '{kind}' takes {count} {word}, not {len(variables.columns)}."
        )
    return variables.columns


def require_numbers(column: CodedColumn) -> CodedColumn:
    """Return a column of numbers on a scale.

    Raises:
        WrongUsage: It has none.
    """
    if not column.kind.is_number or not is_on_scale(column):
        raise WrongUsage(f"'{column.name}' is no number on a scale. Use a column with `bounds`.")
    return column


def require_categories(column: CodedColumn) -> CodedColumn:
    """Return a column with few values.

    Raises:
        WrongUsage: It has one value, or too many.
    """
    if not 2 <= column.coding.size <= MOST_CATEGORIES:
        raise WrongUsage(
            f"'{column.name}' has {column.coding.size:,} values; a category has 2 to {MOST_CATEGORIES}. List its "
            "`values` in the policy, or use another column."
        )
    return column


def choose_groups(
    variables: Variables, place: int, chosen: Sequence[str], *, exactly: int | None = None
) -> Groups:
    """Return the groups that are compared.

    Args:
        variables: The columns.
        place: The place of the column of groups among those that are coded.
        chosen: The groups, by their values; none for all.
        exactly: How many there must be.

    Raises:
        WrongUsage: There is no such group, or there are too many or too few.
    """
    if variables.by is None:
        return Groups(CellAxis(place, (0,)), ("all",), None)
    column = require_categories(variables.by)
    names = label_codes(column)
    if not chosen:
        axis = keep_values(place, column.coding.size)
    else:
        wanted = [find_label(column, one) for one in chosen]
        if len(set(wanted)) < len(wanted):
            raise WrongUsage("A group is named twice. Name each once.")
        cells = [wanted.index(code) if code in wanted else -1 for code in range(len(names))]
        axis, names = CellAxis(place, (*cells, -1)), [names[code] for code in wanted]
    if exactly is not None and len(names) != exactly:
        raise WrongUsage(
            f"{exactly} groups are compared, and '{column.name}' has {len(names)}. Choose: "
            f"`--set groups={','.join(names[:exactly])}`."
        )
    if len(names) < 2:
        raise WrongUsage("One group has nothing to be compared with. Name two.")
    return Groups(axis, tuple(names), column)


def find_label(column: CodedColumn, text: str) -> int:
    """Return the code of a value that is written as text.

    Raises:
        WrongUsage: The column has no such value.
    """
    labels = label_codes(column)
    wanted = text.strip()
    if wanted in labels:
        return labels.index(wanted)
    raise WrongUsage(f"'{column.name}' has no value '{text}'.{did_you_mean(wanted, labels)}")


def choose_value(column: CodedColumn, text: str | None, *, option: str) -> int:
    """Return the code of a value; without one, that of the last of two.

    Raises:
        WrongUsage: The column has no such value, or there are several to choose from.
    """
    if text is not None:
        return find_label(column, text)
    if column.coding.size == 2:
        return 1
    names = ", ".join(label_codes(column)[:5])
    raise WrongUsage(
        f"'{column.name}' has {column.coding.size} values. Choose one of {names}: `--set {option}=…`."
    )


def label_codes(column: CodedColumn) -> list[str]:
    """Return what each code is called, without that of missing values."""
    coding = column.coding
    if isinstance(coding, ListedValues):
        listed = [_write_value(value) for value in coding.values]
        return [*listed, "*"] if coding.has_other else listed
    if coding.unit == "real":
        edges = [*coding.starts[:-1].tolist(), float(coding.high)]
        return [f"{low:.10g} to {high:.10g}" for low, high in pairwise(edges)]
    firsts, lasts = (one.to_pylist() for one in coding.representatives())
    pairs = [(_write_value(a), _write_value(b)) for a, b in zip(firsts, lasts, strict=True)]
    return [low if low == high else f"{low} to {high}" for low, high in pairs]


def _write_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return value.isoformat(" ") if hasattr(value, "hour") and hasattr(value, "day") else str(value)


def divide_scale(column: CodedColumn, bins: int) -> CodedColumn:
    """Return a column on a scale with at most `bins` bins of one width; listed values stay as they are.

    Raises:
        WrongUsage: It is no scale.
    """
    coding = column.coding
    if isinstance(coding, ListedValues):
        if not coding.is_ordered:
            raise WrongUsage(f"'{column.name}' is no scale. Use a column with `bounds`.")
        return column
    low, high = coding.parts[0].low, coding.parts[-1].high
    if coding.unit == "real":
        low, high = float(coding.low), float(coding.high)
        part = RangePart(low, high, (high - low) / bins) if low < high else coding.parts[0]
    else:
        part = RangePart(int(low), int(high), max(1, -(-int(high - low) // bins)))
    return replace(column, coding=replace(coding, parts=(part,)), levels=())


def upper_ends(column: CodedColumn) -> list[float]:
    """Return the largest number of each code of a scale: a number, or days or seconds since 1970."""
    coding = column.coding
    if isinstance(coding, BinnedRange) and coding.unit == "real":
        return [_round_end(one) for one in (*coding.starts[1:-1].tolist(), float(coding.high))]
    return [] if coding.ends is None else [_round_end(one) for one in coding.ends[1].tolist()]


def lower_ends(column: CodedColumn) -> list[float]:
    """Return the smallest number of each code of a scale, as `upper_ends` does."""
    ends = column.coding.ends
    return [] if ends is None else [_round_end(one) for one in ends[0].tolist()]


def _round_end(end: float) -> float:
    return float(f"{end:.12g}")


def word_columns(variables: Variables) -> str:
    """Return the columns in words: `age and cost by sex`."""
    names = join_names([f"'{column.name}'" for column in variables.columns])
    return names if variables.by is None else f"{names} by '{variables.by.name}'"
