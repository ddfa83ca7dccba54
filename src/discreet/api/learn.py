"""`discreet.learn`: a private model, learned from noisy counts of the engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.answer.curator import open_curator
from discreet.answer.mechanism import (
    MechanismResult,
)
from discreet.answer.wording import format_amounts
from discreet.api.declarations import DECLARATIONS, declare_columns
from discreet.api.model_evaluation import (
    EvaluationOrder,
    order_evaluation,
    read_evaluation_price,
)
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.errors import BudgetExceeded, WrongUsage
from discreet.formatting import join_names
from discreet.learning.model_file import SavedPredictor, read_predictor
from discreet.learning.model_order import ModelOrder, ModelTerms, order_model
from discreet.learning.record import LearnedModel, LearningExplanation
from discreet.policy.load import load_policy
from discreet.policy.model import Policy
from discreet.progress import follow_phases
from discreet.writing import require_writable_path, write_atomically


def learn(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    target: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    learner: str | None = None,
    candidates: Sequence[Mapping[str, object]] | None = None,
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    evaluate: ExactNumber | None = None,
    evaluate_on: object = None,
    subgroups: Sequence[str] | None = None,
    output: str | Path | None = None,
    force: bool = False,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: object,
) -> LearnedModel:
    """Return a private model of a table, and charge it to the ledger.

    Rows are bounded and coded inside the engine, which counts them; counts get noise, and the model follows
    from noisy counts alone. Values and bounds come from the policy, never from the data. The same request on
    the same data gives the same model, free.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; what is given here is added to it.
        target: The column that is predicted; None for clusters and components.
        epsilon: What the model costs.
        delta: The chance that Gaussian noise does not cover; by default 1e-9. With 0, noise is Laplace's.
        learner: How it is learned; by default `boosting` for classes and `linear` for numbers.
        candidates: Options of the learner, such as `[{"rounds": 3}, {"rounds": 10}]`: the best is selected privately,
            for the same epsilon in all.
        features: The columns that predict; by default all that are declared and identify no one.
        leave_out: Columns that do not predict.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people: never features.
        unit: The column that says whose rows they are; by default each row is a person.
        rows_per_unit: How many rows of a unit count; the others are left out by chance.
        bounds: Public bounds of numbers, such as `{"age": (0, 110)}`.
        values: Public values of categories, such as `{"sex": ["f", "m"]}`.
        evaluate: Also judge the model, for this epsilon more, by noisy counts of its predictions.
        evaluate_on: Rows to judge it on, such as those of people it was not learned from; by default its own.
        subgroups: Columns whose values are groups of rows that are also judged apart.
        output: Where the model goes, a JSON file.
        force: Replace what is at `output`.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.
        options: Options of the learner, such as `rounds=5` for boosting.

    Raises:
        UndeclaredDomain: A column has neither values nor bounds; the message names all of them.
        BudgetExceeded: Too little is left; nothing was spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [30, 60] * 500, "ill": [False, True] * 500})
    >>> model = learn(people, target="ill", bounds={"age": (0, 110)}, epsilon=1)
    >>> model.predict(pyarrow.table({"age": [30, 60]})).tolist(), model.spent["epsilon"]
    ([False, True], 1.0)
    """
    given = dict(locals())
    place = None if output is None else Path(output)
    if place is not None:
        require_writable_path(place, may_exist=force)
    with (
        follow_phases(progress, first="opening") as step,
        _open_learning(source, policy, given) as opened,
        _open_evaluation(opened, policy, given) as order,
    ):
        step("learning", 0, 1)
        paid = opened.pay(room=None if order is None else order.room)
        found = _describe_model(opened, paid, place)
        if place is not None:
            write_atomically(place, paid.content.decode())
        if order is None:
            return found
        step("evaluating", 0, 1)
        return _add_evaluation(found, order, paid.content)


def explain_learning(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    target: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    learner: str | None = None,
    candidates: Sequence[Mapping[str, object]] | None = None,
    features: Sequence[str] | None = None,
    leave_out: Sequence[str] | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    evaluate: ExactNumber | None = None,
    evaluate_on: object = None,
    subgroups: Sequence[str] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    **options: object,
) -> LearningExplanation:
    """Return what `learn` with the same options would cost; nothing is read or spent.

    Args:
        source: A path, a URL, or a frame.
        policy: A policy or the path of its file; what is given here is added to it.
        target: The column that is predicted.
        epsilon: What the model costs.
        delta: The chance that Gaussian noise does not cover.
        learner: How it is learned.
        candidates: Options of the learner, of which the best is selected privately.
        features: The columns that predict.
        leave_out: Columns that do not predict.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people.
        unit: The column that says whose rows they are.
        rows_per_unit: How many rows of a unit count.
        bounds: Public bounds of numbers.
        values: Public values of categories.
        evaluate: Also judge the model, for this epsilon more, by noisy counts of its predictions.
        evaluate_on: Rows to judge it on, such as those of people it was not learned from; by default its own.
        subgroups: Columns whose values are groups of rows that are also judged apart.
        ledger: A file or a `postgresql://` URL.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        options: Options of the learner.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [30, 60] * 500, "ill": [False, True] * 500})
    >>> explain_learning(people, target="ill", bounds={"age": (0, 110)}).learner
    'boosting'
    """
    given = dict(locals())
    with (
        _open_learning(source, policy, given) as opened,
        _open_evaluation(opened, policy, given) as order,
    ):
        return _explain_order(opened, None if order is None else order.epsilon)


def load_model(path: str | Path) -> LearnedModel:
    """Return a model that `learn` wrote; it predicts without the source.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It is no model, one of another version, or damaged.

    >>> import pyarrow, tempfile
    >>> people = pyarrow.table({"age": [30, 60] * 500, "ill": [False, True] * 500})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = learn(people, target="ill", bounds={"age": (0, 110)}, output=f"{folder}/model.json")
    ...     load_model(f"{folder}/model.json").target
    'ill'
    """
    saved = read_predictor(Path(path))
    said = saved.privacy
    epsilon, delta = float(to_fraction(said["epsilon"])), float(to_fraction(said["delta"]))
    return LearnedModel(
        source=str(path),
        table=str(said["table"]),
        verdict=_word_verdict(saved, epsilon, delta, str(said["unit"])),
        **_describe_space(saved),
        epsilon=epsilon,
        delta=delta,
        unit=str(said["unit"]),
        rows_per_unit=int(said["rows_per_unit"]),
        spent={"epsilon": 0.0, "delta": 0.0},
        remaining={},
        cached=True,
        cautions=(),
        output=str(path),
        _saved=saved,
    )


_READING = ("ledger", "analyst", "table", "delimiter", "encoding", "memory")


@contextmanager
def _open_learning(
    source: object, policy: Policy | str | Path | None, given: Mapping[str, Any]
) -> Generator[ModelOrder]:
    """Open the source with its policy; all that can be refused without data is refused here."""
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    declared = declare_columns(
        source,
        loaded,
        {name: given.get(name) for name in DECLARATIONS} | {"table": given.get("table")},
    )
    reading: dict[str, Any] = {name: given.get(name) for name in _READING}
    asked = ModelTerms(
        given["target"],
        given["epsilon"],
        given["delta"],
        given["learner"],
        given["features"],
        given["leave_out"] or (),
        given["options"],
        given["candidates"],
    )
    with open_curator(source, declared, **reading) as curator:
        yield order_model(curator, given.get("table"), asked)


@contextmanager
def _open_evaluation(
    opened: ModelOrder, policy: Policy | str | Path | None, given: Mapping[str, Any]
) -> Generator[EvaluationOrder | None]:
    """Open the rows that a model is judged on, None where it is not; what can be refused is refused here."""
    epsilon = read_evaluation_price(given)
    if epsilon is None:
        yield None
        return
    with ExitStack() as stack:
        other = opened
        if given["evaluate_on"] is not None:
            other = stack.enter_context(_open_learning(given["evaluate_on"], policy, given))
        yield order_evaluation(
            other.curator,
            other.held,
            other.policy,
            other.request.space,
            learned=opened.request.space,
            epsilon=epsilon,
            subgroups=given["subgroups"] or (),
        )


def _add_evaluation(found: LearnedModel, order: EvaluationOrder, content: bytes) -> LearnedModel:
    """Return a model with its evaluation, and what both cost.

    The model is paid for, perhaps long ago: where it cannot be judged, or too little is left, it is returned
    with a caution.
    """
    try:
        judged, paid = order.evaluate(content)
    except (BudgetExceeded, WrongUsage) as error:
        return replace(found, cautions=(*found.cautions, f"The model was not evaluated. {error}"))
    spent = {name: found.spent[name] + amount for name, amount in paid.spent.items()}
    left = paid.remaining if order.same_rows else found.remaining
    cautions = tuple(dict.fromkeys((*found.cautions, *paid.cautions)))
    return replace(found, evaluation=judged, spent=spent, remaining=left, cautions=cautions)


def _explain_order(order: ModelOrder, evaluation: Fraction | None) -> LearningExplanation:
    """Return price and terms, with those of an evaluation; no row is read."""
    request, terms = order.request, order.terms
    target = request.space.target
    more = "" if evaluation is None else f", and its evaluation epsilon {float(evaluation):g} more"
    return LearningExplanation(
        source=order.held.table.label,
        table=order.held.name,
        verdict=f"{order.title} would cost {order.price_words}{more}. Nothing was read or spent.",
        learner=request.learner.name,
        task=request.space.task,
        target=None if target is None else target.name,
        features=tuple(one.name for one in request.space.features),
        epsilon=float(request.epsilon),
        delta=float(request.delta),
        unit=order.policy.unit_words,
        rows_per_unit=terms.rows_per_unit,
        remaining=terms.remaining,
        cautions=terms.cautions,
        evaluation_epsilon=None if evaluation is None else float(evaluation),
    )


def _describe_model(order: ModelOrder, paid: MechanismResult, place: Path | None) -> LearnedModel:
    """Return the model with what was promised and paid."""
    saved = SavedPredictor.from_bytes(paid.content)
    epsilon, delta = float(order.request.epsilon), float(order.request.delta)
    return LearnedModel(
        source=order.held.table.label,
        table=order.held.name,
        verdict=_word_verdict(saved, epsilon, delta, order.policy.unit_words),
        **_describe_space(saved),
        epsilon=epsilon,
        delta=delta,
        unit=order.policy.unit_words,
        rows_per_unit=order.terms.rows_per_unit,
        spent=paid.spent,
        remaining=paid.remaining,
        cached=paid.cached,
        cautions=paid.cautions,
        output=None if place is None else str(place),
        _saved=saved,
    )


def _describe_space(saved: SavedPredictor) -> dict[str, Any]:
    space = saved.space
    return {
        "learner": saved.learner,
        "task": space.task,
        "target": None if space.target is None else space.target.name,
        "classes": space.classes,
        "features": tuple(column.name for column in space.features),
    }


def _word_verdict(saved: SavedPredictor, epsilon: float, delta: float, unit: str) -> str:
    space = saved.space
    names = join_names([column.name for column in space.features])
    what = "of" if space.target is None else f"of '{space.target.name}' from"
    return (
        f"A model {what} {names} by {saved.learner}, which anybody may have: "
        f"{format_amounts(epsilon, delta)} for each {unit}."
    )
