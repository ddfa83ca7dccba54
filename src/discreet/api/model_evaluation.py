"""How well a learned model predicts: noisy counts of an engine, for a price of their own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.answer.catalog import CatalogTable, require_named_columns
from discreet.answer.curator import Curator
from discreet.answer.mechanism import MechanismResult, release_mechanism
from discreet.dp.accounting.exact import to_fraction
from discreet.dp.budget import Price
from discreet.dp.spending import PureSpending
from discreet.errors import InvalidBudget, WrongUsage
from discreet.learning.evaluation import (
    MeasuredPredictions,
    Subgroups,
    divide_column,
    plan_evaluation,
    require_judgeable,
)
from discreet.learning.features import FeatureSpace, code_declared_columns
from discreet.learning.model_file import SavedPredictor
from discreet.learning.performance import ModelEvaluation, read_performance
from discreet.policy.model import TablePolicy


@dataclass(frozen=True)
class EvaluationOrder:
    """An evaluation that is asked for, checked before anything is read.

    Attributes:
        curator: Whose rows a model is judged on.
        held: The table of these rows.
        space: Its columns, as the model codes them.
        groups: Whose figures are shown apart.
        epsilon: What it costs.
        same_rows: Whether the model is learned from these rows.
    """

    curator: Curator
    held: CatalogTable
    space: FeatureSpace
    groups: tuple[Subgroups, ...]
    epsilon: Fraction
    same_rows: bool

    @property
    def price(self) -> Price:
        """What the ledger is charged."""
        return Price(self.epsilon, Fraction(0), self.epsilon**2 / 2, Fraction(0))

    @property
    def room(self) -> Price | None:
        """What must be left after the model is paid: nothing where other rows pay for the evaluation."""
        return self.price if self.same_rows else None

    def evaluate(self, content: bytes) -> tuple[ModelEvaluation, MechanismResult]:
        """Return how well the model of a file's content predicts, and what was spent on it.

        The same evaluation of the same model is free again.
        """
        plan = plan_evaluation(
            self.space, SavedPredictor.from_bytes(content).predictor, self.groups
        )
        request = {
            "judge": 1,
            "model": hashlib.sha256(content).hexdigest(),
            "groups": [one.column.to_content() for one in self.groups],
            "epsilon": str(self.epsilon),
        }

        def measure(counter: Any) -> bytes:
            spending = PureSpending(self.epsilon, sensitivity=counter.sensitivity, one=counter.one)
            return plan.measure(counter, spending).to_bytes()

        paid = release_mechanism(
            self.curator,
            self.held.name,
            [(one.name, one.code, one.size) for one in plan.columns],
            price=self.price,
            request=json.dumps(request, sort_keys=True),
            question=f"evaluate a model of {self.held.name}",
            mechanism=measure,
        )
        found = read_performance(
            plan,
            MeasuredPredictions.from_bytes(paid.content),
            source=self.held.table.label,
            same_rows=self.same_rows,
            epsilon=float(self.epsilon),
        )
        return found, paid


def order_evaluation(
    curator: Curator,
    held: CatalogTable,
    policy: TablePolicy,
    space: FeatureSpace,
    *,
    learned: FeatureSpace,
    epsilon: Fraction,
    subgroups: Sequence[str],
) -> EvaluationOrder:
    """Return an evaluation on a table, whose columns are coded as those that the model is learned from.

    Raises:
        WrongUsage: The model cannot be judged, a column makes no groups, or the table's columns are others.
        UndeclaredDomain: The values or bounds of a column of groups are not declared.
    """
    require_judgeable(space)
    sizes, wanted = (
        [(one.name, one.kind, one.size) for one in some.columns] for some in (space, learned)
    )
    if sizes != wanted:
        raise WrongUsage(
            "The rows to evaluate on do not have the model's columns with the same kinds and declared values. Name "
            "a table of the same form."
        )
    if learned.target is not None and learned.target.name in subgroups:
        raise WrongUsage("The target tells no groups apart: name other columns.")
    require_named_columns(held, subgroups)
    groups = [
        divide_column(one) for one in code_declared_columns(policy, held.planned_columns, subgroups)
    ]
    return EvaluationOrder(curator, held, space, tuple(groups), epsilon, space is learned)


def read_evaluation_price(given: Mapping[str, Any]) -> Fraction | None:
    """Return what an evaluation may cost, None if none is asked for.

    Raises:
        InvalidBudget: The price is not above 0.
        WrongUsage: It is said how to evaluate, but not for how much.
    """
    if given["evaluate"] is None:
        if given["evaluate_on"] is not None or given["subgroups"]:
            raise WrongUsage(
                "An evaluation has a price of its own. Name it: --evaluate 0.1, in Python `evaluate=0.1`."
            )
        return None
    epsilon = to_fraction(given["evaluate"])
    if epsilon <= 0:
        raise InvalidBudget("An evaluation costs an epsilon above 0, such as 0.1.")
    return epsilon
