"""`discreet.sample_and_aggregate`: a private estimate by any estimator that is given as a callable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.answer.catalog import CatalogTable, require_named_columns
from discreet.answer.curator import Curator, open_curator
from discreet.answer.mechanism import MechanismResult, find_protected_table, release_row_mechanism
from discreet.answer.unit_rows import UnitRows
from discreet.answer.wording import format_amounts
from discreet.api.declarations import declare_columns
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.engines.frames import is_pandas
from discreet.errors import MissingExtra, WrongUsage
from discreet.learning.aggregation import (
    AggregationRequest,
    BlockEstimator,
    PrivateEstimate,
    correct_by_halves,
    release_estimate,
)
from discreet.learning.callable_identity import describe_callable
from discreet.learning.estimate_record import AggregatedEstimate
from discreet.learning.isolated_call import call_isolated
from discreet.policy.load import load_policy
from discreet.policy.model import Policy
from discreet.progress import follow_phases

BlockForm = Literal["arrow", "pandas", "numpy"]


def sample_and_aggregate(  # noqa: PLR0913 -- what is estimated, of what, and for how much
    source: object,
    estimator: Callable[[Any], Any],
    policy: Policy | str | Path | None = None,
    *,
    range: tuple[ExactNumber, ExactNumber] | Sequence[tuple[ExactNumber, ExactNumber]],  # noqa: A002
    columns: Sequence[str] | None = None,
    blocks: int | None = None,
    aggregate: Literal["mean", "winsorized"] | None = None,
    correct_bias: bool = True,
    epsilon: ExactNumber = 1,
    delta: ExactNumber = 0,
    name: str | None = None,
    block_form: BlockForm | None = None,
    seconds: float = 10.0,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    identifiers: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> AggregatedEstimate:
    """Return a private estimate by any estimator, and charge it to the ledger.

    People are divided into blocks at random, the estimator runs on each block, and the average of its
    numbers gets noise. It works on rows that left the engine, and must return numbers that follow from its block
    alone. The same callable on the same data gives the same estimate, free. Try a callable on made-up rows first:
    where it fails, the middle of the range stands for a block, and no error says so.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        estimator: A callable that gets a block of rows, and returns a number, or one for each range.
        policy: A policy or the path of its file.
        range: Between which public numbers the estimate is, such as `(0, 1)`; a list of pairs for several numbers.
        columns: What the estimator gets; by default all columns that name no one.
        blocks: How many blocks there are; by default as many as epsilon and the noisy number of people suggest.
        aggregate: `mean`, or `winsorized` for an average within noisy quartiles, which wide ranges need; by default
            what the number of blocks is enough for.
        correct_bias: Also estimate the halves of each block, which cancels the bias that a small block has.
        epsilon: What the estimate costs.
        delta: The chance that Gaussian noise does not cover; with 0, noise is Laplace's.
        name: The estimator's name in the ledger; by default its own.
        block_form: What the estimator gets: `arrow`, `pandas` or `numpy`; by default pandas for a pandas frame, else Arrow.
        seconds: How long it may take on one block; what takes longer is ended.
        unit: The column that says whose rows they are; by default each row is a person.
        rows_per_unit: How many rows of a unit count; the others are left out by chance.
        identifiers: The columns that name people.
        bounds: Public bounds of numbers, such as `{"age": (0, 110)}`; in a source without types they say what is a number.
        values: Public values of categories, such as `{"sex": ["f", "m"]}`.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        BudgetExceeded: Too little is left; nothing was spent.

    >>> import numpy, pyarrow
    >>> people = pyarrow.table({"income": [1000.0, 2000.0, 9000.0] * 300})
    >>> found = sample_and_aggregate(
    ...     people, numpy.median, range=(0, 10_000), blocks=20, block_form="numpy", epsilon=2
    ... )
    >>> found.blocks, found.spent["epsilon"], 0 <= found.estimate <= 10_000
    (20, 2.0, True)
    """
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    stated: dict[str, Any] = {
        "unit": unit,
        "rows_per_unit": rows_per_unit,
        "identifiers": identifiers,
        "bounds": bounds,
        "values": values,
    }
    declared = declare_columns(source, loaded, {**stated, "table": table})
    form = block_form or ("pandas" if is_pandas(source) else "arrow")
    _require_form(form, seconds)
    with (
        follow_phases(progress, first="opening") as step,
        open_curator(
            source,
            declared,
            ledger=ledger,
            analyst=analyst,
            table=table,
            delimiter=delimiter,
            encoding=encoding,
            memory=memory,
        ) as curator,
    ):
        held = find_protected_table(curator.catalog, table)
        request = AggregationRequest(
            held.name,
            _choose_columns(held, columns, form),
            name or getattr(estimator, "__qualname__", type(estimator).__name__),
            describe_callable(estimator),
            _read_ranges(range),
            blocks,
            aggregate,
            correct_bias,
            to_fraction(epsilon),
            to_fraction(delta),
            (form, repr(seconds)),
        )
        step("estimating", 0, 1)
        paid = _pay_request(curator, held, request, _BlockCall(estimator, form, seconds, request))
        return _describe_estimate(held, request, paid)


class _BlockCall:
    """Runs the estimator on blocks, each in a process of its own."""

    def __init__(
        self,
        estimator: Callable[[Any], Any],
        form: BlockForm,
        seconds: float,
        request: AggregationRequest,
    ) -> None:
        self._form: BlockForm = form
        self._seconds = seconds
        self._numbers, self._corrects = len(request.ranges), request.halves
        self._call: Callable[[Any], Any] = (
            correct_by_halves(estimator) if request.halves else estimator
        )

    def bind(self, table: Any) -> BlockEstimator:
        """Return the estimator of blocks of rows of a table, by their places."""

        def estimate(first: Any, second: Any) -> Any:
            if self._corrects and not (first.size and second.size):
                return None
            places = [np.concatenate([first, second])]
            if self._corrects:
                places += [first, second]
            try:
                blocks = [_form_block(table.take(one), self._form) for one in places]
            except Exception:  # noqa: BLE001 -- a failure of the whole would say what a cell of one block holds
                return None
            return self._run(tuple(blocks) if self._corrects else blocks[0])

        return estimate

    def _run(self, block: Any) -> Any:
        return call_isolated(self._call, block, numbers=self._numbers, seconds=self._seconds)


def _pay_request(
    curator: Curator, held: CatalogTable, request: AggregationRequest, call: _BlockCall
) -> MechanismResult:
    """Charge the request, and return its estimate: the same one whenever the same is asked for."""

    def estimate(rows: UnitRows) -> bytes:
        bound = call.bind(rows.table.combine_chunks())
        found = release_estimate(request, bound, rows.units, before_noise=rows.begin_release)
        return found.to_bytes()

    return release_row_mechanism(
        curator,
        held.name,
        request.columns,
        price=request.price,
        request=request.key(),
        question=f"sample and aggregate {held.name} ({request.estimator})",
        mechanism=estimate,
    )


def _form_block(block: Any, form: BlockForm) -> Any:
    """Return a block as the estimator gets it; one column as an array has one dimension."""
    if form == "pandas":
        return block.to_pandas()
    if form == "arrow":
        return block
    cells = [
        column.combine_chunks().cast("float64", safe=False).to_numpy(zero_copy_only=False)
        for column in block.columns
    ]
    return cells[0] if len(cells) == 1 else np.column_stack(cells)


def _require_form(form: str, seconds: float) -> None:
    if form not in ("arrow", "pandas", "numpy"):
        raise WrongUsage("A block is given in one of three forms: 'arrow', 'pandas' or 'numpy'.")
    if not seconds > 0:
        raise WrongUsage("An estimator needs some time for a block. Give `seconds` above 0.")
    if form == "pandas" and find_spec("pandas") is None:
        raise MissingExtra(what="A pandas frame", extra="frames")


def _choose_columns(
    held: CatalogTable, columns: Sequence[str] | None, form: BlockForm
) -> tuple[str, ...]:
    """Return the columns that the estimator gets; refuse those that there are not, and texts in an array."""
    known = {column.name: column for column in held.planned_columns if column.name != held.rank}
    if columns is None:
        policy = held.policy
        named = {
            name
            for name in known
            if policy is not None
            and (said := policy.column(name)) is not None
            and said.role.names_people
        }
        columns = [name for name in known if name not in named and name != held.unit]
    require_named_columns(held, columns)
    if not columns:
        raise WrongUsage(
            "No column is left for the estimator. Name some, columns=['age'], or declare them in the policy or "
            "here: bounds={'age': (0, 110)}."
        )
    texts = [name for name in columns if not known[name].kind.is_number]
    if form == "numpy" and texts:
        raise WrongUsage(
            f"'{texts[0]}' holds no numbers, so that it has no place in an array. Choose block_form='arrow' or "
            "'pandas', or other columns."
        )
    return tuple(columns)


def _read_ranges(stated: Any) -> tuple[tuple[Fraction, Fraction], ...]:
    try:
        pairs = list(stated)
        if len(pairs) == 2 and not isinstance(pairs[0], (tuple, list)):
            pairs = [pairs]
        return tuple((to_fraction(low), to_fraction(high)) for low, high in pairs)
    except (TypeError, ValueError):
        raise WrongUsage(
            "A range is two numbers, such as (0, 1); several numbers need a list of pairs."
        ) from None


def _describe_estimate(
    held: CatalogTable, request: AggregationRequest, paid: MechanismResult
) -> AggregatedEstimate:
    """Return the estimate with what was promised and paid."""
    found = PrivateEstimate.from_bytes(paid.content)
    epsilon, delta = float(request.epsilon), float(request.delta)
    is_one = len(request.ranges) == 1
    unit = held.unit or "row"

    def only(numbers: tuple[float, ...]) -> float | tuple[float, ...]:
        return numbers[0] if is_one else numbers

    shown = ", ".join(f"{value:.4g}" for value in found.values)
    errors = ", ".join(f"{value:.2g}" for value in found.noise_errors)
    return AggregatedEstimate(
        source=held.table.label,
        table=held.name,
        verdict=(
            f"{request.estimator} is {shown}, with a standard error of {errors} from noise, over {found.blocks} "
            f"blocks: {format_amounts(epsilon, delta)} for each {unit}."
        ),
        estimator=request.estimator,
        estimate=only(found.values),
        noise_error=only(found.noise_errors),
        block_error=None if found.block_errors is None else only(found.block_errors),
        warning=_word_warning(request),
        blocks=found.blocks,
        aggregate=found.aggregate,
        epsilon=epsilon,
        delta=delta,
        unit=unit,
        spent=paid.spent,
        remaining=paid.remaining,
        cached=paid.cached,
        cautions=paid.cautions,
    )


def _word_warning(request: AggregationRequest) -> str:
    off = (
        "what remains of it after the correction by halves"
        if request.halves
        else "its bias, which shrinks in proportion to the size of a block"
    )
    return (
        f"An estimator that is off on a small block is off here, too: {off} is in no error above. A block where the "
        "estimator failed counts as the middle of the range."
    )
