"""A model beside the people it was trained on and people it was not: what attacks on it are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import pc
from discreet.attacks.models.reference import load_reference
from discreet.attacks.models.trained_model import (
    ClonedClassifier,
    FittedClassifier,
    Recipe,
    TrainedModel,
    adapt_model,
    adapt_recipe,
    is_clonable,
    require_outcome,
)
from discreet.engines.connect import opened_table
from discreet.engines.engine import ArrowTable, Kind, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.roles import require_column
from discreet.progress import Progress, ignore_progress
from discreet.sql import build

FEWEST = 20  # people of each kind: below it no share says anything
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class ModelTrial:
    """A model, the people it was trained on and others, as rows with its features and its outcome.

    Attributes:
        model: What is attacked.
        members: The people it was trained on.
        others: People of the same population who had no part in its training.
        label: What the model is called.
        recipe: Trains models of the same kind; None where no one knows how.
        progress: Reports how many shadow models are trained.
    """

    model: TrainedModel
    members: ArrowTable
    others: ArrowTable
    label: str
    recipe: Recipe | None = None
    progress: Progress = ignore_progress


@dataclass(frozen=True)
class ModelRequest:
    """How a model and its people are named.

    Attributes:
        model: A trained model, a file of one, or `module:attribute`; None trains one by the recipe.
        source: The people it was trained on; half of them, where it is trained here.
        control: People of the same population who had no part in it.
        outcome: The column it predicts; a model of discreet knows it.
        columns: The columns it takes, in its order, where it does not name them itself.
        recipe: How models of this kind are trained: an estimator, or a function of rows and seed.
        run_code: Whether names of files and modules may be loaded, which runs their code.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use.
    """

    model: object
    source: object
    control: object = None
    outcome: str | None = None
    columns: Sequence[str] | None = None
    recipe: object = None
    run_code: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    memory: str | None = None


def open_model_trial(
    request: ModelRequest, *, rng: np.random.Generator, progress: Progress = ignore_progress
) -> ModelTrial:
    """Return a model beside its people; without a model, one is trained on half of the source.

    Who is in that half is decided by a coin for each row, as differential privacy reads "in or out".

    Raises:
        WrongUsage: Model, recipe and tables do not go together.
        UnknownColumn: A table lacks a column that the model takes or predicts.
        EmptySource: There are too few people.

    >>> import pyarrow
    >>> class Constant:
    ...     feature_names, target, classes = ("age",), "ill", ("no", "yes")
    ...     def predict_proba(self, rows):
    ...         return np.full((rows.num_rows, 2), 0.5)
    >>> people = pyarrow.table({"age": [20, 40] * 20, "ill": ["no", "yes"] * 20})
    >>> trial = open_model_trial(
    ...     ModelRequest(Constant(), source=people, control=people), rng=np.random.default_rng(1))
    >>> trial.members.num_rows, trial.others.num_rows, trial.label
    (40, 40, 'Constant')
    """
    _require_parts(request)
    recipe = load_reference(request.recipe, run_code=request.run_code, noun="recipe")
    if request.model is None:
        return _train_trial(request, recipe, rng, progress)
    given = load_reference(request.model, run_code=request.run_code, noun="model")
    model = adapt_model(given, outcome=request.outcome, columns=request.columns)
    tables = [
        _read_rows(source, request, model.feature_names or None, model.target)
        for source in (request.source, request.control)
    ]
    members, others = _align_rows(*tables)
    model = _name_features(model, members)
    return ModelTrial(
        model,
        _require_people(members, "--source"),
        _require_people(others, "--control"),
        label=str(request.model) if isinstance(request.model, str) else type(given).__name__,
        recipe=_find_recipe(given, model, recipe),
        progress=progress,
    )


def _require_parts(request: ModelRequest) -> None:
    if request.model is None and request.recipe is None:
        raise WrongUsage("Name the model that is attacked, or a --recipe that one is trained by.")
    if request.model is not None and request.control is None:
        raise WrongUsage(
            "--control is missing: people of the same population who had no part in the training. What an "
            "attack learns about them follows from the population."
        )


def _train_trial(
    request: ModelRequest, recipe: Any, rng: np.random.Generator, progress: Progress
) -> ModelTrial:
    """Return the trial of a model that is trained here, on about half of the source."""
    outcome = require_outcome(request.outcome)
    rows = _read_rows(request.source, request, request.columns, outcome)
    if request.control is not None:
        raise WrongUsage(
            "A --recipe without a model trains one on half of --source; the other half is the control "
            "group. Leave --control out."
        )
    features = tuple(name for name in rows.column_names if name != outcome)
    train = adapt_recipe(recipe, outcome=outcome, columns=features, names_columns=True)
    is_in = rng.random(rows.num_rows) < 0.5
    members = _require_people(rows.filter(pa.array(is_in)), "half of --source")
    others = _require_people(rows.filter(pa.array(~is_in)), "half of --source")
    progress("training", 0, 1)
    model = train(members, draw_seed(rng))
    return ModelTrial(model, members, others, type(recipe).__name__, train, progress)


def draw_seed(rng: np.random.Generator) -> int:
    """Return a random state for training one model."""
    return int(rng.integers(LARGEST_SEED))


def _find_recipe(given: object, model: TrainedModel, recipe: object) -> Recipe | None:
    """Return how shadow models are trained: as stated, else like the model itself where it can be cloned."""
    named = hasattr(given, "feature_names_in_") or not isinstance(model, FittedClassifier)
    if recipe is not None:
        return adapt_recipe(
            recipe, outcome=model.target, columns=model.feature_names, names_columns=named
        )
    if not isinstance(model, FittedClassifier) or not is_clonable(given):
        return None
    return ClonedClassifier(given, model.feature_names, model.target, named)


def _name_features(model: TrainedModel, rows: ArrowTable) -> TrainedModel:
    """Return the model with the columns of the table as its features, where it names none itself."""
    if model.feature_names or not isinstance(model, FittedClassifier):
        return model
    names = tuple(name for name in rows.column_names if name != model.target)
    return replace(model, feature_names=names)


def _read_rows(
    source: object, request: ModelRequest, features: Sequence[str] | None, outcome: str
) -> ArrowTable:
    """Return features and outcome of a table in a fixed order, without rows that have no outcome."""
    with opened_table(
        source,
        delimiter=request.delimiter,
        encoding=request.encoding,
        memory_limit=request.memory,
    ) as table:
        require_column(table, outcome)
        names = features or [one.name for one in table.columns if one.name != outcome]
        for name in names:
            require_column(table, name)
        rows = _select_columns(table, [*names, outcome])
    kept = rows.filter(pc.is_valid(rows[outcome]))
    # Who is drawn must not depend on the order in which an engine returns rows.
    plain = [name for name in kept.column_names if not pa.types.is_nested(kept[name].type)]
    return kept.sort_by([(name, "ascending") for name in plain])


def _select_columns(table: Table, names: Sequence[str]) -> ArrowTable:
    query = build.select(*map(build.column, names), source=table.relation.copy())
    rows = table.engine.run(query)
    for place, name in enumerate(names):
        column = rows.column(place)
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        elif require_column(table, name).kind is Kind.DECIMAL:
            column = pc.cast(column, pa.float64(), safe=False)
        rows = rows.set_column(place, name, column)
    return rows


def _align_rows(members: ArrowTable, others: ArrowTable) -> tuple[ArrowTable, ArrowTable]:
    """Return both tables with the same columns of the same types."""
    if set(members.column_names) != set(others.column_names):
        raise WrongUsage(
            "--source and --control have different columns. Name those that the model takes: --columns."
        )
    others = others.select(members.column_names)
    try:
        together = pa.concat_tables([members, others], promote_options="permissive")
    except pa.ArrowException:
        raise WrongUsage(
            "--source and --control have columns of one name and different types. Write them alike."
        ) from None
    return together.slice(0, members.num_rows), together.slice(members.num_rows)


def _require_people(rows: ArrowTable, name: str) -> ArrowTable:
    if rows.num_rows < FEWEST:
        raise EmptySource(
            f"There are {rows.num_rows:,} people with an outcome in {name}, and an attack on a model needs at "
            f"least {FEWEST}."
        )
    return rows


def draw_rows(rows: ArrowTable, many: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the places of at most `many` people, drawn without replacement, in chance order."""
    return rng.permutation(rows.num_rows)[: min(many, rows.num_rows)]


def describe_row(rows: ArrowTable, place: int) -> str:
    """Return the values of a person in words: for the custodian only."""
    [row] = rows.slice(place, 1).to_pylist()
    return ", ".join(
        f"{name} {'missing' if value is None else value}" for name, value in row.items()
    )
