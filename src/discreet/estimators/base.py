"""What all estimators share: parameters of the learner, a fit that is paid for, coded rows to predict from."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.api.learn import learn
from discreet.engines.engine import Kind
from discreet.errors import RefusedArgument, UndeclaredDomain, UnknownColumn, did_you_mean
from discreet.estimators.cells import RawColumn, cast_cells
from discreet.estimators.declared import (
    Declarations,
    TargetDeclared,
    read_declarations,
    undeclared_columns_error,
)
from discreet.estimators.inputs import InputColumns, read_input
from discreet.estimators.privacy import (
    IN_MEMORY,
    UntrackedSpendingWarning,
    describe_promise,
    find_ledger_place,
)
from discreet.estimators.scikit_learn import (
    BaseEstimator,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)
from discreet.learning.coefficients import CoefficientModel
from discreet.learning.features import Task
from discreet.learning.record import LearnedModel
from discreet.policy.model import ColumnKind
from discreet.registry import LEARNERS

Codes = NDArray[np.int32]
# The parameters of every estimator with their defaults; those of the learner follow.
PARAMETERS: Mapping[str, Any] = {
    "epsilon": 1.0,
    "delta": None,
    "bounds": None,
    "values": None,
    "unit": None,
    "rows_per_unit": None,
    "ledger": None,
    "analyst": None,
    "policy": None,
    "table": None,
}
_KINDS: Mapping[Kind, ColumnKind] = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "integer",
    Kind.REAL: "number",
    Kind.DECIMAL: "number",
    Kind.TEXT: "text",
}
_REFUSED = {
    "sample_weight": "A weight would let one person count as many, which the noise does not cover",
    "random_state": "A seed would make the noise known, and take it away",
}


class PrivateEstimator(BaseEstimator):
    """An estimator over a learner of the registry, whose fit is charged to a ledger.

    Guarantee: `fit` is (epsilon, delta)-DP between tables that differ in the rows of one unit, as
    `discreet.learn` with the same request; attributes of a fitted estimator follow from its model and from
    what is declared (closure under post-processing; Dwork & Roth 2014, Proposition 2.1). Which columns X has,
    and what type they are of, is taken to be public.
    """

    learner: ClassVar[str]
    task: ClassVar[Task]
    own_parameters: ClassVar[Mapping[str, Any]] = {}

    epsilon: Any
    delta: Any
    bounds: Any
    values: Any
    unit: str | None
    rows_per_unit: int | None
    ledger: Any
    analyst: str | None
    policy: Any
    table: str | None
    model_: LearnedModel
    n_features_in_: int

    def __init_subclass__(cls, learner: str | None = None, **others: Any) -> None:
        super().__init_subclass__(**others)
        if learner is not None:
            cls.learner = learner
            options = {one.name: one.default for one in LEARNERS.get(learner).options}
            cls.__init__ = _make_init({**PARAMETERS, **cls.own_parameters, **options})

    # -- fitting

    def fit(self, X: Any, y: Any = None, **refused: Any) -> Self:
        """Learn from rows, and charge it.

        Args:
            X: An array, a list of rows, or a frame of pandas, polars or Arrow.
            y: What is predicted: a value for each row, or the name of a column of X.
            refused: Nothing; what scikit-learn offers and privacy forbids gets its reason here.

        Raises:
            UndeclaredDomain: Bounds, values or classes are not declared; all are named.
            BudgetExceeded: The ledger has too little left; nothing was spent.
        """
        _refuse(refused)
        every = read_input(X, estimator=self)
        self._require_unit(every)
        target, cells = self._read_target(every, y)
        rows = every.without([target, self.unit])
        rows.validate(self, reset=True)
        said = read_declarations(
            rows, bounds=self.bounds, values=self.values, policy=self.policy, table=self.table
        )
        columns = rows.to_arrow(said.kinds)
        if target is not None:
            goal = self._declare_target(target, cells, said)
            said = said.with_target(target, goal)
            columns = columns.append_column(target, cast_cells(cells, goal.kind))
        if self.unit is not None:
            unit = cast_cells(every.column(self.unit), "text" if not every.is_typed else None)
            columns = columns.append_column(self.unit, unit)
        self.model_ = self._learn_model(columns, said, target)
        place = find_ledger_place(self.ledger)
        if str(place) == IN_MEMORY:
            warnings.warn(
                f"This fit cost epsilon {self.model_.epsilon:g}, and no ledger keeps it: further fits of the same "
                "rows add up unseen. Give `ledger=FILE`.",
                UntrackedSpendingWarning,
                stacklevel=2,
            )
        self.privacy_ = describe_promise(self.model_, ledger=place)
        self._set_attributes()
        return self

    def _require_unit(self, rows: InputColumns) -> None:
        if self.unit is not None and (not rows.has_names or self.unit not in rows.names):
            near = did_you_mean(self.unit, rows.names) if rows.has_names else " Give a frame."
            raise UnknownColumn(f"`unit` names column '{self.unit}', which X lacks.{near}")

    def _read_target(self, rows: InputColumns, y: Any) -> tuple[str | None, RawColumn]:
        """Return the target's name and its cells."""
        if isinstance(y, str):
            if not rows.has_names or y not in rows.names:
                near = did_you_mean(y, rows.names) if rows.has_names else " Give a frame."
                raise UnknownColumn(f"y names column '{y}', which X lacks.{near}")
            return y, rows.column(y)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        name = getattr(y, "name", None)
        target = name if isinstance(name, str) and name else "y"
        while target in rows.names:
            target += "_"
        cells = column_or_1d(y, dtype=None, warn=True)
        check_consistent_length(np.empty(rows.count), cells)
        return target, cells

    def _declare_target(self, target: str, cells: RawColumn, said: Declarations) -> TargetDeclared:
        """Return what the constructor declares of the target, and how its cells are read."""
        raise NotImplementedError

    def _learn_model(self, columns: Any, said: Declarations, target: str | None) -> LearnedModel:
        options = {one.name: getattr(self, one.name) for one in LEARNERS.get(self.learner).options}
        try:
            return learn(
                columns,
                said.policy,
                target=target,
                epsilon=self.epsilon,
                delta=self.delta,
                learner=self.learner,
                unit=self.unit,
                rows_per_unit=self.rows_per_unit,
                bounds=said.bounds,
                values=said.values,
                ledger=find_ledger_place(self.ledger),
                analyst=self.analyst,
                table=self.table,
                **options,
            )
        except UndeclaredDomain as error:
            raise undeclared_columns_error(self, error.columns, target) from None

    def _set_attributes(self) -> None:
        """Set what follows from the model, such as `classes_`."""
        predictor = self.model_.saved.predictor
        if isinstance(predictor, CoefficientModel):
            self.coefficients_ = predictor.coefficients

    # -- predicting

    def _encode(self, X: Any) -> Codes:
        """Return the codes of rows, after scikit-learn's checks of their columns."""
        check_is_fitted(self, "model_")
        rows = read_input(X, estimator=self)
        space = self.model_.saved.space
        rows = rows.without(
            [name for name in (self.model_.target, self.unit) if name not in self._feature_names()]
        )
        rows.validate(self, reset=False)
        known = dict(zip(self._feature_names(), rows.columns, strict=True))
        cells = {
            one.name: cast_cells(known[one.name], _KINDS.get(one.kind)) for one in space.features
        }
        return space.encode(pa.table(cells))

    def _predict_scores(self, X: Any) -> NDArray[np.float64]:
        """Return what the model's predictor returns of rows."""
        codes = self._encode(X)  # first: it refuses where nothing was fitted yet
        return self.model_.saved.predictor.predict(codes)

    def _feature_names(self) -> list[str]:
        found = getattr(self, "feature_names_in_", None)
        if found is None:
            return [f"x{place}" for place in range(self.n_features_in_)]
        return [str(name) for name in found]

    def _require_column(self, X: Any, y: Any) -> Any:
        """Return y as it is, or the column of X that it names."""
        if not isinstance(y, str):
            return y
        return self._read_target(read_input(X, estimator=self), y)[1]

    # -- scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.non_deterministic = self.ledger is None
        return tags


def _refuse(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name not in _REFUSED:
            raise TypeError(f"fit() got an unexpected keyword argument '{name}'")
        if value is not None:
            raise RefusedArgument(f"`{name}` is refused: {_REFUSED[name]}. Leave it out.")


def _make_init(parameters: Mapping[str, Any]) -> Any:
    """Return an `__init__` that stores each parameter as it was given, which scikit-learn's `clone` relies on."""

    def __init__(self: Any, **stated: Any) -> None:  # noqa: N807 -- it becomes the method of that name
        for name in stated:
            if name in _REFUSED:
                raise RefusedArgument(f"`{name}` is refused: {_REFUSED[name]}. Leave it out.")
            if name not in parameters:
                raise TypeError(
                    f"{type(self).__name__} has no parameter '{name}'.{did_you_mean(name, parameters)}"
                )
        for name, default in parameters.items():
            setattr(self, name, stated.get(name, default))

    keyword = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    listed = [keyword(name, default=default) for name, default in parameters.items()]
    made: Any = __init__
    made.__signature__ = inspect.Signature([own, *listed])
    return made
