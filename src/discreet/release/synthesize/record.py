"""What `synthesize` returns: a table that anybody may have, its price, and what it keeps. Keys are public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.attacks.finding import Finding
from discreet.engines.caller_frames import to_frame_like, to_pandas_frame, to_polars_frame
from discreet.engines.engine import ArrowTable
from discreet.errors import Bug
from discreet.formatting import join_names
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.domain.coded_column import CodedColumn
    from discreet.domain.declared import Need
    from discreet.release.synthesize.domain import TableDomain
    from discreet.release.synthesize.evaluate import Evaluation
    from discreet.release.synthesize.family_file import SavedTables
    from discreet.release.synthesize.gate import Codes
    from discreet.release.synthesize.model import SyntheticModel
    from discreet.release.synthesize.model_file import SavedModel
    from discreet.release.write import WrittenOutput

PROMISED = (
    (
        "Differential privacy: from the table, the model and this manifest one learns of any one unit at "
        "most what epsilon and delta allow, with any other knowledge, now and later."
    ),
    "Every row obeys the declared values, bounds and rules.",
    "No value of an identifier or of free text is taken from the source.",
    "The number of rows is a noisy count, or was asked for.",
)
NOT_PROMISED = (
    "Relations between columns that were not measured: there the table is a guess.",
    "Rare values and small groups: a count below its error says nothing.",
    (
        "Whether the table was published depends on attacks that it passed. The custodian saw them; a "
        "refusal publishes nothing."
    ),
    "What is true of the population is no secret: the table is made to show it.",
    "Which rows are one unit's: each synthetic row is of a unit of its own.",
)
_NOTICEABLE = 3  # standard errors of a count that is more than noise
FAMILY_PROMISED = (
    (
        "Differential privacy: from all tables and this manifest one learns of any one unit, with all its rows "
        "in all tables, at most what epsilon and delta allow, with any other knowledge, now and later."
    ),
    *PROMISED[1:3],
    "Every row of a child table refers to one row of the parent table.",
    "The number of parents is a noisy count, or was asked for; numbers of children are drawn from noisy counts.",
)
FAMILY_NOT_PROMISED = (
    *NOT_PROMISED[:-1],
    "Relations between several child rows of one parent, such as their order.",
)


@dataclass(frozen=True)
class ColumnSynthesis(Result):
    """One column: how it was made, its codes, and the standard error of a count of one value."""

    column: str
    made: str  # "synthesized", "derived" or "surrogate"
    codes: int | None
    standard_error: float | None


@dataclass(frozen=True)
class MeasuredMarginal(Result):
    """Columns whose joint counts were measured, and the standard error of a cell."""

    columns: tuple[str, ...]
    cells: int
    standard_error: float | None


@dataclass(frozen=True)
class SyntheticSample(Result):
    """Synthetic rows: how many, and where they were written."""

    rows: int
    output: WrittenOutput | None = None
    _rows: ArrowTable = field(default=None, repr=False, compare=False)
    _given: object = field(default=None, repr=False, compare=False)

    @property
    def frame(self) -> Any:
        """The rows as the kind of frame that the source was; an Arrow table for a file."""
        return to_frame_like(self._given, self.to_arrow())

    def to_arrow(self) -> ArrowTable:
        """Return the rows as an Arrow table."""
        return self._rows

    def to_pandas(self) -> Any:
        """Return the rows as a pandas frame."""
        return to_pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the rows as a polars frame."""
        return to_polars_frame(self.to_arrow())


@dataclass(frozen=True)
class SyntheticRelease(SyntheticSample):
    """A synthetic table: what it cost, what was measured for it, and what attacks on it learned.

    `spent` and `remaining` are amounts of epsilon and delta; with `cached` the same request was paid
    before. `unit` is whose rows are protected together, `rows_per_unit` how many of them count.
    `total` is the noisy number of rows of the source, `rows` how many the table has. `marginals` are
    what was measured together; `findings` are for the custodian, and are not in the manifest. `evaluation`
    is what was asked for with `evaluate`, at a price of its own; the manifest has none of it.

    >>> import discreet, pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500})
    >>> made = discreet.synthesize(people, values={"sex": ["f", "m"]}, epsilon=1, method="fast")
    >>> made.spent["epsilon"], made.frame.column_names, made.frame.num_rows == made.rows
    (1.0, ['sex'], True)
    """

    _: KW_ONLY
    source: str
    table: str
    verdict: str
    method: str
    epsilon: float
    delta: float
    rho: float | None
    unit: str
    rows_per_unit: int
    target: str | None
    total: float
    columns: tuple[ColumnSynthesis, ...]
    marginals: tuple[MeasuredMarginal, ...]
    spent: Mapping[str, Any]
    remaining: Mapping[str, Any]
    cached: bool
    evaluation: Evaluation | None = None
    attacks: tuple[str, ...] = ()  # that the gate tries, whatever the data
    findings: tuple[Finding, ...] = ()
    accepted_risk: str | None = None
    not_tried: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    id: str | None = None
    manifest: str | None = None
    model_path: str | None = None
    promised: tuple[str, ...] = PROMISED
    not_promised: tuple[str, ...] = NOT_PROMISED
    _model: SavedModel | None = field(default=None, repr=False, compare=False)
    _manifest_content: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def model(self) -> SavedModel:
        """The model, from which more rows are drawn at no cost."""
        if self._model is None:
            raise Bug("A synthetic table has lost its model.")
        return self._model

    @property
    def manifest_content(self) -> Mapping[str, Any] | None:
        """The manifest as plain data."""
        return self._manifest_content


@dataclass(frozen=True)
class FamilyTable(SyntheticSample):
    """One of several synthetic tables: how its columns were made, and what attacks on it learned."""

    _: KW_ONLY
    table: str
    rows_per_unit: int
    columns: tuple[ColumnSynthesis, ...]
    marginals: tuple[MeasuredMarginal, ...]
    attacks: tuple[str, ...] = ()  # that the gate tries, whatever the data
    findings: tuple[Finding, ...] = ()
    accepted_risk: str | None = None
    not_tried: tuple[str, ...] = ()
    id: str | None = None


@dataclass(frozen=True)
class SyntheticTables(Result):
    """Synthetic tables whose keys refer to each other: what they cost together, and each of them.

    `tables` has the parent first. `total` is the noisy number of rows of the parent table, `target` the column
    that others are to predict, with its table. `findings` of the tables are for the custodian, and are not in
    the manifest; nor is `evaluation`, which was asked for with `evaluate` at a price of its own.
    """

    source: str
    verdict: str
    method: str
    epsilon: float
    delta: float
    rho: float | None
    unit: str
    target: str | None
    total: float
    tables: tuple[FamilyTable, ...]
    spent: Mapping[str, Any]
    remaining: Mapping[str, Any]
    cached: bool
    cautions: tuple[str, ...] = ()
    output: str | None = None
    manifest: str | None = None
    evaluation: Evaluation | None = None
    model_path: str | None = None
    promised: tuple[str, ...] = FAMILY_PROMISED
    not_promised: tuple[str, ...] = FAMILY_NOT_PROMISED
    _model: SavedTables | None = field(default=None, repr=False, compare=False)
    _manifest_content: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def frames(self) -> dict[str, Any]:
        """The rows of each table, by its name."""
        return {one.table: one.frame for one in self.tables}

    @property
    def model(self) -> SavedTables:
        """The model of all tables, from which more rows are drawn at no cost."""
        if self._model is None:
            raise Bug("Synthetic tables have lost their model.")
        return self._model

    @property
    def manifest_content(self) -> Mapping[str, Any] | None:
        """The manifest as plain data."""
        return self._manifest_content


@dataclass(frozen=True)
class SampledTable(SyntheticSample):
    """Rows of one of several synthetic tables."""

    _: KW_ONLY
    table: str


@dataclass(frozen=True)
class SampledTables(Result):
    """Rows of several synthetic tables whose keys refer to each other, and where they were written."""

    tables: tuple[SampledTable, ...]
    output: str | None = None

    @property
    def frames(self) -> dict[str, Any]:
        """The rows of each table, by its name."""
        return {one.table: one.frame for one in self.tables}


@dataclass(frozen=True)
class SynthesisExplanation(Result):
    """What a synthetic table would cost and how exact it would be; nothing was read and nothing spent."""

    source: str
    table: str
    verdict: str
    method: str
    epsilon: float
    delta: float
    rho: float | None
    unit: str
    rows_per_unit: int
    target: str | None
    columns: tuple[ColumnSynthesis, ...]
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableExplanation(Result):
    """One of several tables: how many rows of a unit count, how columns are made and how exactly."""

    table: str
    rows_per_unit: int
    columns: tuple[ColumnSynthesis, ...]


@dataclass(frozen=True)
class TablesExplanation(Result):
    """What synthetic tables would cost together and how exact they would be; nothing was read or spent."""

    source: str
    verdict: str
    method: str
    epsilon: float
    delta: float
    rho: float | None
    unit: str
    target: str | None
    tables: tuple[TableExplanation, ...]
    remaining: Mapping[str, Any]
    cautions: tuple[str, ...] = ()


def caution_of_gaps(
    columns: Sequence[CodedColumn], fitted: SyntheticModel, codes: Codes, *, first: int = 0
) -> tuple[str, ...]:
    """Return a caution about missing values that noise may have put where the source has none.

    It follows from noisy counts and synthetic rows. `columns` are fitted from place `first` on, and `codes`
    are their synthetic rows.
    """
    noisy = zip(fitted.rules.places, fitted.columns.counts, fitted.columns.scales, strict=True)
    names: list[str] = []
    for place, counts, scale in noisy:
        if not first <= place < first + len(columns):
            continue
        column = columns[place - first]
        is_unsure = counts[column.missing] < _NOTICEABLE * scale
        if is_unsure and bool((codes[:, place - first] == column.missing).any()):
            names.append(column.name)
    if not names:
        return ()
    rule = f"- never: {{{names[0]}: {{missing: true}}}}"
    caution = (
        f"A few values of {join_names(names)} are missing in the synthetic rows, and noise may be the reason. If "
        f"the source has one in every row, say so under `rules:` in the policy: `{rule}`."
    )
    return (caution,)


def describe_synthesis(
    domain: TableDomain, errors: Mapping[int, float], searched: Sequence[tuple[str, Need]] = ()
) -> tuple[ColumnSynthesis, ...]:
    """Return how each column is made; one that follows from others has no error of its own.

    Of `searched` those are named whose domain is still to be found.
    """
    coded = {
        one.name: ColumnSynthesis(
            one.name,
            "synthesized" if place in errors else "derived by a rule",
            one.size,
            errors.get(place),
        )
        for place, one in enumerate(domain.columns)
    }
    made_up = {
        one.name: ColumnSynthesis(one.name, f"made up ({one.form})", None, None)
        for one in domain.surrogates
    }
    found = tuple(
        ColumnSynthesis(name, f"synthesized, {need} found privately", None, None)
        for name, need in searched
        if name not in domain.order
    )
    return (*({**coded, **made_up}[name] for name in domain.order), *found)
