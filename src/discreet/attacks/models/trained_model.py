"""A trained classifier as an adversary has it: asked about rows, it answers with chances.

Two protocols are all that the attacks know: `TrainedModel` answers, `Recipe` trains another model of
the same kind. Classifiers of scikit-learn are adapted to both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import pc
from discreet.engines.engine import ArrowTable
from discreet.errors import (
    DiscreetError,
    MissingExtra,
    ModelFailed,
    UnknownColumn,
    WrongUsage,
    did_you_mean,
)


@runtime_checkable
class TrainedModel(Protocol):
    """A classifier that answers with chances."""

    @property
    def feature_names(self) -> Sequence[str]:
        """The columns it takes."""
        ...

    @property
    def target(self) -> str:
        """The column it predicts."""
        ...

    @property
    def classes(self) -> Sequence[Any]:
        """The values it predicts, in the order of its answers."""
        ...

    def predict_proba(self, rows: ArrowTable, /) -> NDArray[np.float64]:
        """Return the chance of each class for each row of a table with `feature_names`."""
        ...


class Recipe(Protocol):
    """Trains a model of one kind on rows with features and outcome; the same seed repeats it."""

    def __call__(self, rows: ArrowTable, seed: int, /) -> TrainedModel:
        """Return the model that these rows train."""
        ...


def confidences(model: TrainedModel, rows: ArrowTable) -> NDArray[np.float64]:
    """Return the chance that a model gives to each row's own outcome, 0 for one that it does not know.

    Raises:
        ModelFailed: It cannot be applied, or its answer is no table of chances.
    """
    answered = answer(model, rows)
    column = class_positions(model.classes, rows[model.target])
    own = answered[np.arange(len(answered)), np.maximum(column, 0)]
    return np.where(column < 0, 0.0, own)


def answer(model: TrainedModel, rows: ArrowTable) -> NDArray[np.float64]:
    """Return what a model answers for each row, one chance for each class.

    Raises:
        ModelFailed: It cannot be applied, or its answer is no table of chances.
    """
    asked = rows.select(list(model.feature_names))
    try:
        found = np.asarray(model.predict_proba(asked), dtype=np.float64)
    except DiscreetError:
        raise
    except Exception as error:  # noqa: BLE001 -- a model is foreign code; its message may quote a cell
        raise ModelFailed(
            f"The model cannot be applied: it raised {type(error).__name__}. Give it rows as it was "
            "trained on, with the same columns and types."
        ) from None
    wanted = (rows.num_rows, len(model.classes))
    if found.shape != wanted or not np.all((found >= 0) & (found <= 1 + 1e-9)):
        raise ModelFailed(
            f"The model answers {rows.num_rows:,} rows and {len(model.classes):,} classes with numbers "
            "that are no chances of the classes. Give a classifier with predict_proba."
        )
    return np.minimum(found, 1.0)


def class_positions(classes: Sequence[Any], outcomes: Any) -> NDArray[np.int64]:
    """Return which class each outcome is, -1 where a model does not know it.

    >>> class_positions(["no", "yes"], pa.chunked_array([["yes", "maybe", "no", None]])).tolist()
    [1, -1, 0, -1]
    """
    known = {_plain_value(value): place for place, value in enumerate(classes)}
    coded = pa.chunked_array(outcomes).combine_chunks().dictionary_encode()
    codes = pc.fill_null(coded.indices, len(coded.dictionary)).to_numpy(zero_copy_only=False)
    places = [known.get(value, -1) for value in coded.dictionary.to_pylist()]
    return np.array([*places, -1], dtype=np.int64)[codes]


def _plain_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True)
class FittedClassifier:
    """A fitted classifier of scikit-learn, or of anything with its methods."""

    estimator: Any
    feature_names: tuple[str, ...]
    target: str

    @property
    def classes(self) -> Sequence[Any]:
        """The values it predicts."""
        return list(self.estimator.classes_)

    def predict_proba(self, rows: ArrowTable, /) -> NDArray[np.float64]:
        """Return its chances; where it has none, 1 for the class that it predicts."""
        given = _to_input(rows, names_columns=hasattr(self.estimator, "feature_names_in_"))
        if hasattr(self.estimator, "predict_proba"):
            return self.estimator.predict_proba(given)
        predicted = np.asarray(self.estimator.predict(given))
        return (predicted[:, None] == np.asarray(self.estimator.classes_)[None, :]).astype(float)


@dataclass(frozen=True)
class ClonedClassifier:
    """Trains clones of an estimator of scikit-learn, each with a random state of its own."""

    estimator: Any
    feature_names: tuple[str, ...]
    target: str
    names_columns: bool

    def __call__(self, rows: ArrowTable, seed: int, /) -> TrainedModel:
        """Return a clone that is fitted to the rows."""
        try:
            from sklearn.base import clone
        except ImportError as error:
            raise MissingExtra(what="Training shadow models", extra="attack") from error
        made: Any = clone(self.estimator)
        states = [name for name in made.get_params() if name.split("__")[-1] == "random_state"]
        made.set_params(**dict.fromkeys(states, seed))
        given = _to_input(rows.select(list(self.feature_names)), names_columns=self.names_columns)
        outcomes = rows[self.target].to_numpy()
        try:
            made.fit(given, outcomes)
        except Exception as error:  # noqa: BLE001 -- foreign code; its message may quote a cell
            raise ModelFailed(
                f"A model of this kind cannot be trained on {rows.num_rows:,} rows: it raised "
                f"{type(error).__name__}. Give rows as it was trained on, or more of them."
            ) from None
        return FittedClassifier(made, self.feature_names, self.target)


def adapt_model(model: object, *, outcome: str | None, columns: Sequence[str] | None) -> Any:
    """Return a model as the attacks ask it: one that has the protocol, or a classifier of scikit-learn.

    Without `columns` and without names of its own, the model's features are left to the tables: they are
    then empty here.

    Raises:
        WrongUsage: It is no classifier, or what it predicts is not named.
    """
    if isinstance(model, TrainedModel):
        if outcome is not None and outcome != model.target:
            raise WrongUsage(f"The model predicts '{model.target}', not '{outcome}'.")
        return model
    found: Any = model
    if not hasattr(found, "classes_") or not hasattr(found, "predict"):
        raise WrongUsage(
            "The target is no trained classifier: expected `classes_` with `predict_proba` or `predict`, as "
            "scikit-learn's have after fit."
        )
    return FittedClassifier(found, _feature_names(found, columns), require_outcome(outcome))


def adapt_recipe(
    recipe: object, *, outcome: str | None, columns: Sequence[str] | None, names_columns: bool
) -> Recipe:
    """Return how models are trained: as given, or clones of an estimator of scikit-learn.

    Raises:
        WrongUsage: It is neither.
    """
    if hasattr(recipe, "fit") and hasattr(recipe, "get_params"):
        names = tuple(columns or ())
        return ClonedClassifier(recipe, names, require_outcome(outcome), names_columns)
    if callable(recipe) and not isinstance(recipe, type):
        return cast("Recipe", recipe)
    raise WrongUsage(
        "The recipe trains nothing: give an estimator of scikit-learn, or a function of rows and seed that "
        "returns a model."
    )


def is_clonable(model: object) -> bool:
    """Whether other models of this kind can be trained; one with a ledger would spend a budget."""
    parameters: Any = getattr(model, "get_params", None)
    return hasattr(model, "fit") and parameters is not None and "ledger" not in parameters()


def require_outcome(outcome: str | None) -> str:
    """Return the column that a model predicts.

    Raises:
        WrongUsage: It is not stated.
    """
    if outcome is None:
        raise WrongUsage("Say which column the model predicts: --outcome diagnosis.")
    return outcome


def _feature_names(estimator: Any, columns: Sequence[str] | None) -> tuple[str, ...]:
    own = tuple(str(name) for name in getattr(estimator, "feature_names_in_", ()))
    if own and columns is not None and set(columns) != set(own):
        other = next(name for name in (*columns, *own) if (name in own) != (name in columns))
        near = did_you_mean(other, own)
        raise UnknownColumn(f"The model names its columns, and they are not those given.{near}")
    return own or tuple(columns or ())


def _to_input(rows: ArrowTable, *, names_columns: bool) -> Any:
    """Return rows as scikit-learn takes them: a frame where columns have names, else numbers."""
    if names_columns:
        try:
            return rows.to_pandas()
        except ImportError as error:
            raise MissingExtra(what="A model that names its columns", extra="frames") from error
    columns = []
    for name in rows.column_names:
        kind = rows.schema.field(name).type
        if not (
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
        ):
            raise ModelFailed(
                f"The model was trained on numbers without names of columns, and '{name}' is no number. Train "
                "it on a frame, with the encoding in a pipeline, or name the columns it takes."
            )
        columns.append(pc.cast(rows[name], pa.float64(), safe=False).to_numpy())
    return np.column_stack(columns)
