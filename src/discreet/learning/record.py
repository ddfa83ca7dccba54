"""A learned model as a result: what was promised, what it predicts, and how it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.engines.connect import opened_table
from discreet.errors import WrongUsage
from discreet.learning.coefficients import Coefficient, CoefficientModel
from discreet.learning.model_file import SavedPredictor
from discreet.learning.performance import ModelEvaluation
from discreet.learning.scoring_sql import write_scoring_query
from discreet.learning.tree_model import TreeModel
from discreet.learning.tree_text import describe_trees
from discreet.result import Result
from discreet.sql import build


@dataclass(frozen=True)
class LearningExplanation(Result):
    """What a model would cost; no row was read, and nothing was spent."""

    source: str
    table: str
    verdict: str
    learner: str
    task: str
    target: str | None
    features: tuple[str, ...]
    epsilon: float
    delta: float
    unit: str
    rows_per_unit: int
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...]
    evaluation_epsilon: float | None = None


@dataclass(frozen=True)
class LearnedModel(Result):
    """A private model, with what was promised and paid for it.

    Attributes:
        source: What it was learned from.
        table: The table's name.
        verdict: One sentence.
        learner: How it was learned.
        task: What it does: classification, regression, clustering or components.
        target: What it predicts, None where nothing is.
        classes: The classes it predicts.
        features: What it predicts from.
        epsilon: What it cost.
        delta: The chance that noise does not cover.
        unit: Whose rows are protected together.
        rows_per_unit: How many rows of a unit counted.
        spent: What was charged this time.
        remaining: What is left.
        cached: Whether it was learned before, so that it was free.
        cautions: What to know.
        output: Where it was written.
        evaluation: How well it predicts, where that was paid for.
    """

    source: str
    table: str
    verdict: str
    learner: str
    task: str
    target: str | None
    classes: tuple[Any, ...]
    features: tuple[str, ...]
    epsilon: float
    delta: float
    unit: str
    rows_per_unit: int
    spent: Mapping[str, float]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...]
    output: str | None
    _saved: SavedPredictor = field(repr=False, compare=False)
    evaluation: ModelEvaluation | None = None

    @property
    def saved(self) -> SavedPredictor:
        """The model as its file has it."""
        return self._saved

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients of a linear model, with their errors; none of other models."""
        found = self._saved.predictor
        return found.coefficients if isinstance(found, CoefficientModel) else ()

    def predict(self, source: object) -> NDArray[Any]:
        """Return the predicted class or number of each row of a table: a path, a URL or a frame."""
        return predict_values(self._saved, source)

    def predict_proba(self, source: object) -> NDArray[np.float64]:
        """Return the chance of each class, a row for each row of a table."""
        return predict_chances(self._saved, source)

    def score(self, source: object) -> float:
        """Return the accuracy of predicted classes, or the R² of predicted numbers, on rows with a target.

        What it returns is exact and not private: use it on rows that need no protection.
        """
        return score_predictions(self._saved, source)

    def explain(self) -> str:
        """Return the trees of a model as indented lines.

        Raises:
            WrongUsage: The model has no trees.

        >>> import discreet, pyarrow
        >>> people = pyarrow.table({"smokes": [True, False] * 500, "ill": [True, False] * 500})
        >>> model = discreet.learn(people, target="ill", quasi=["smokes"], learner="tree")
        >>> model.explain().startswith("smokes = ")
        True
        """
        if not isinstance(self._saved.predictor, TreeModel):
            raise WrongUsage(
                f"A model by '{self.learner}' is no tree that could be written as text. Choose `tree` or `forest`."
            )
        return describe_trees(self._saved.predictor)

    def to_sql(
        self,
        table: str | None = None,
        *,
        keep: Sequence[str] | None = None,
        dialect: Literal["duckdb", "postgres", "spark"] = "duckdb",
    ) -> str:
        """Return a query that predicts in the database: the prediction and the chance of each class.

        Args:
            table: The table whose rows are scored, `schema.table` where it needs one; by default the model's own.
            keep: The columns that stand beside the prediction, such as a key; by default the features.
            dialect: `duckdb`, `postgres` or `spark`.

        Raises:
            WrongUsage: Models of this learner have no such form, or there is no such dialect.

        >>> import discreet, pyarrow
        >>> people = pyarrow.table({"age": [30, 60] * 500, "ill": [False, True] * 500})
        >>> model = discreet.learn(people, target="ill", bounds={"age": (0, 110)})
        >>> model.to_sql("clinic.people", keep=["age"]).startswith('SELECT "age" AS "age", CASE WHEN')
        True
        """
        place = self.table if table is None else table
        return write_scoring_query(self._saved, table=place, keep=keep, dialect=dialect)

    def to_onnx(self, path: str | Path) -> None:
        """Write the model as ONNX, for runtimes of that format: inputs are features, outputs label and probabilities.

        Args:
            path: Where it goes, such as `model.onnx`; a file that is there is replaced.

        Raises:
            MissingExtra: `discreet[onnx]` is not installed.
            WrongUsage: Models of this learner have no such form.
        """
        from discreet.learning.onnx_file import write_onnx

        write_onnx(self._saved, Path(path))

    def to_pmml(self, path: str | Path) -> None:
        """Write the model as PMML 4.4, for scoring engines that read it.

        Args:
            path: Where it goes, such as `model.pmml`; a file that is there is replaced.

        Raises:
            WrongUsage: Models of this learner have no such form, or a name cannot stand in XML.
        """
        from discreet.learning.pmml_file import write_pmml

        write_pmml(self._saved, Path(path))


def predict_values(saved: SavedPredictor, source: object) -> NDArray[Any]:
    """Return the predicted class or number of each row."""
    found = saved.predictor.predict(_read_codes(saved, source))
    if saved.space.task == "classification":
        values = np.empty(len(saved.space.classes), object)
        values[:] = saved.space.classes
        chosen = values[found.argmax(axis=1)]
        return np.array(chosen.tolist()) if len(chosen) else chosen
    return found[:, 0] if saved.space.task == "regression" else found


def predict_chances(saved: SavedPredictor, source: object) -> NDArray[np.float64]:
    """Return the chance of each class for each row.

    Raises:
        WrongUsage: The model predicts no classes.
    """
    if saved.space.task != "classification":
        raise WrongUsage(f"A model of {saved.space.task} predicts no classes. Use `predict`.")
    return saved.predictor.predict(_read_codes(saved, source))


def score_predictions(saved: SavedPredictor, source: object) -> float:
    """Return accuracy or R² on the rows whose target is there.

    Raises:
        WrongUsage: The model predicts nothing.
    """
    space = saved.space
    if space.target is None:
        raise WrongUsage("A model without a target predicts nothing that could be compared.")
    table = _read_columns(source, [column.name for column in space.columns])
    truth = space.target.encode(table.column(space.target.name).combine_chunks())
    is_there = truth != space.target.missing
    found = saved.predictor.predict(space.encode(table))[is_there]
    truth = truth[is_there]
    if space.task == "classification":
        return float((found.argmax(axis=1) == truth).mean())
    actual = space.target_numbers[truth]
    unexplained = float(((actual - found[:, 0]) ** 2).sum())
    return 1 - unexplained / (float(((actual - actual.mean()) ** 2).sum()) or 1.0)


def _read_codes(saved: SavedPredictor, source: object) -> NDArray[np.int32]:
    return saved.space.encode(
        _read_columns(source, [column.name for column in saved.space.features])
    )


def _read_columns(source: object, names: list[str]) -> Any:
    """Return the columns of a table that are there, as Arrow."""
    with opened_table(source) as opened:
        known = {column.name for column in opened.columns}
        wanted = [build.column(name) for name in names if name in known]
        return opened.engine.run(build.select(*wanted, source=opened.relation.copy()))
