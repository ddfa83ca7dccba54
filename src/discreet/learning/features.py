"""What a model is learned from: coded features and a coded target, from policy and schema alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.domain.binned_range import BinnedRange
from discreet.domain.coded_column import CodedColumn
from discreet.domain.declared import (
    UndeclaredColumn,
    code_column,
    column_as_declared,
    undeclared_error,
)
from discreet.domain.listed_values import ListedValues, number_of
from discreet.engines.engine import Column, Kind
from discreet.errors import UnknownColumn, WrongUsage, did_you_mean
from discreet.policy.model import ColumnPolicy, ColumnRole, TablePolicy

Task = Literal["classification", "regression", "clustering", "components"]
Floats = NDArray[np.float64]
MOST_CLASSES = 50
MOST_FEATURES_IN_PAIRS = 100


@dataclass(frozen=True)
class FeatureSpace:
    """The columns a model is learned from, as codes; all of it is public.

    Attributes:
        features: The columns that predict.
        target: The column that is predicted, None where nothing is.
        task: What is learned.
    """

    features: tuple[CodedColumn, ...]
    target: CodedColumn | None
    task: Task

    @property
    def columns(self) -> tuple[CodedColumn, ...]:
        """Features, then the target, if there is one: the order in which rows are coded."""
        return self.features if self.target is None else (*self.features, self.target)

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [column.size for column in self.columns]

    @cached_property
    def classes(self) -> tuple[Any, ...]:
        """The values of the target; none where numbers are predicted."""
        if self.target is None or self.task != "classification":
            return ()
        coding = self.target.coding
        return coding.values if isinstance(coding, ListedValues) else ()

    @cached_property
    def target_numbers(self) -> Floats:
        """The number that each code of the target stands for, without that of missing values."""
        if self.target is None:
            return np.zeros(0)
        return code_numbers(self.target)

    def encode(self, table: Any) -> NDArray[np.int32]:
        """Return the codes of the features of an Arrow table, a column each.

        Raises:
            UnknownColumn: The table lacks a feature.
        """
        for column in self.features:
            if column.name not in table.column_names:
                near = did_you_mean(column.name, table.column_names)
                raise UnknownColumn(f"The model needs column '{column.name}'.{near}")
        coded = [
            column.encode(table.column(column.name).combine_chunks()) for column in self.features
        ]
        return np.stack(coded, axis=1) if coded else np.zeros((table.num_rows, 0), np.int32)

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        return {
            "task": self.task,
            "features": [column.to_content() for column in self.features],
            "target": None if self.target is None else self.target.to_content(),
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> FeatureSpace:
        """Return what `to_content` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
        if content["task"] not in ("classification", "regression", "clustering", "components"):
            raise ValueError("there is no such task")
        features = tuple(CodedColumn.from_content(one) for one in content["features"])
        target = content["target"]
        read = None if target is None else CodedColumn.from_content(target)
        return FeatureSpace(features, read, content["task"])


def require_few_pairs(space: FeatureSpace) -> None:
    """Refuse more features than a learner can count all pairs of.

    Raises:
        WrongUsage: There are too many; nothing was spent.
    """
    count = len(space.features)
    if count > MOST_FEATURES_IN_PAIRS:
        raise WrongUsage(
            f"The {count} features make {count * (count - 1) // 2:,} pairs, and this learner counts each of them: at most "
            f"{MOST_FEATURES_IN_PAIRS} features. Name some (`--features`), leave some out (`--leave-out`), or choose a "
            "learner that counts each feature apart, such as `boosting`."
        )


def code_numbers(column: CodedColumn) -> Floats:
    """Return the number that each code stands for, without that of missing values: the middle of a bin.

    Dates count as days, moments as seconds since 1970.
    """
    coding = column.coding
    if isinstance(coding, BinnedRange):
        firsts, lasts = coding.ends
        return (firsts + lasts) / 2
    return np.array([number_of(value) for value in coding.values], float)


def is_on_scale(column: CodedColumn) -> bool:
    """Return whether codes of a column stand for numbers on a scale."""
    coding = column.coding
    if isinstance(coding, BinnedRange):
        return True
    return column.kind.is_number and coding.is_ordered


def choose_features(
    policy: TablePolicy,
    columns: Sequence[Column],
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] = (),
    task: Task | None = None,
) -> FeatureSpace:
    """Return the features and the target of a model.

    By default all columns are features but identifiers, the unit, weights, and what the policy leaves out of
    releases.

    Args:
        policy: What is declared of the table.
        columns: The columns of the source, which has all that are named here.
        target: What is predicted; None where nothing is.
        features: The columns that predict; by default all that may.
        leave_out: Columns that do not predict.
        task: What is learned; by default classes where the target has listed values, numbers where it has
            bounds.

    Raises:
        UndeclaredDomain: The values or bounds of some are not declared; all are named.
        WrongUsage: The target cannot be learned.
    """
    chosen = [
        column
        for column in columns
        if column.name != target and _may_predict(column, policy, features, leave_out)
    ]
    _require_allowed(policy, [*(features or ()), *([target] if target is not None else [])])
    goal = None if target is None else next(one for one in columns if one.name == target)
    wanted = [*chosen, *([] if goal is None else [goal])]
    coded = [_code_feature(column, policy) for column in wanted]
    missing = [one for one in coded if isinstance(one, UndeclaredColumn)]
    if missing:
        names = ",".join(one.column.name for one in missing)
        raise undeclared_error(
            policy.name,
            missing,
            purpose="what a model is learned from",
            alternatives=f"Or leave them out: `--leave-out {names}`.",
        )
    done = [one for one in coded if isinstance(one, CodedColumn)]
    if not chosen:
        raise WrongUsage(
            f"No column of '{policy.name}' is left to learn from. Name some: `--features`."
        )
    found = done[-1] if goal is not None else None
    decided = task or _choose_task(found)
    if found is not None and decided == "classification":
        found = _require_classes(found)
    if found is not None and decided == "regression" and not is_on_scale(found):
        raise WrongUsage(
            f"'{found.name}' is no number on a scale, so that no regression can predict it. Choose a classifier."
        )
    return FeatureSpace(tuple(done[: len(chosen)]), found, decided)


def code_declared_columns(
    policy: TablePolicy, columns: Sequence[Column], names: Sequence[str]
) -> list[CodedColumn]:
    """Return columns that a table has as codes, whether they predict or not.

    Raises:
        UndeclaredDomain: The values or bounds of some are not declared; all are named.
        WrongUsage: One of them identifies people.
    """
    known = {column.name: column for column in columns}
    _require_allowed(policy, names)
    coded = [_code_feature(known[name], policy) for name in dict.fromkeys(names)]
    missing = [one for one in coded if isinstance(one, UndeclaredColumn)]
    if missing:
        raise undeclared_error(
            policy.name,
            missing,
            purpose="the columns that divide rows into groups",
            alternatives="",
        )
    return [one for one in coded if isinstance(one, CodedColumn)]


def _may_predict(
    column: Column,
    policy: TablePolicy,
    features: Sequence[str] | None,
    leave_out: Sequence[str],
) -> bool:
    if features is not None:
        return column.name in features and column.name not in leave_out
    said = policy.column(column.name)
    if said is None or column.name in (*leave_out, *policy.release.leave_out):
        return False
    is_left = said.role.names_people or said.role is ColumnRole.WEIGHT
    return not is_left and column.name != policy.unit


def _require_allowed(policy: TablePolicy, names: Sequence[str]) -> None:
    for name in names:
        said = policy.column(name)
        is_person = said is not None and said.role.names_people
        if is_person or name == policy.unit:
            raise WrongUsage(
                f"'{name}' identifies people: a model that knew it would name them. Leave it out."
            )


def _code_feature(column: Column, policy: TablePolicy) -> CodedColumn | UndeclaredColumn:
    said = policy.column(column.name) or ColumnPolicy(column.name, ColumnRole.INSENSITIVE)
    return code_column(column_as_declared(column, said), said, None, None)


def _choose_task(target: CodedColumn | None) -> Task:
    if target is None:
        return "clustering"
    is_listed = isinstance(target.coding, ListedValues)
    return "classification" if is_listed and target.coding.size <= MOST_CLASSES else "regression"


def _require_classes(target: CodedColumn) -> CodedColumn:
    """Return the target with its few values listed."""
    coding = target.coding
    if isinstance(coding, BinnedRange) and target.kind is Kind.INTEGER:
        firsts, lasts = coding.ends
        if len(firsts) <= MOST_CLASSES and np.array_equal(firsts, lasts):
            values = tuple(int(value) for value in firsts)
            coding = ListedValues(Kind.INTEGER, values, type_name=coding.type_name)
            target = replace(target, coding=coding, levels=())
    if (
        not isinstance(coding, ListedValues)
        or not 2 <= coding.size <= MOST_CLASSES
        or coding.has_other
    ):
        raise WrongUsage(
            f"'{target.name}' has no list of 2 to {MOST_CLASSES} classes. Declare its `values` in the policy, or "
            "choose a regression."
        )
    return target
