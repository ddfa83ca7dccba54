"""The schema of a policy file: its keys, and what each may hold."""

from types import UnionType
from typing import Annotated, Any, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from discreet.policy.answer_schema import Id, Partitions, WrittenBudget, WrittenLimits, WrittenUnit
from discreet.policy.base_schema import Name, Number, WrittenMapping
from discreet.policy.domain import WrittenBounds, WrittenValues
from discreet.policy.hierarchies.calendar import Period
from discreet.policy.model import ColumnKind, ColumnRole, Distance, DiversityKind, Missing
from discreet.policy.release_schema import Tolerance, WrittenRelease

Periods = Annotated[list[Period], Field(min_length=1)]


def _nest_cuts(written: Any) -> Any:
    """Return one list of cuts as the only level of a list of levels."""
    is_flat = isinstance(written, list) and not any(isinstance(item, list) for item in written)
    return [written] if is_flat else written


class WrittenHierarchy(WrittenMapping):
    """How values become coarser, level by level; the last level is always `*`."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["prefix"]},
                {"required": ["intervals"]},
                {"required": ["cuts"]},
                {"required": ["calendar"]},
                {"required": ["tree"]},
                {"required": ["file"]},
                {
                    "anyOf": [{"required": ["bottom"]}, {"required": ["top"]}],
                    "not": {"anyOf": [{"required": ["intervals"]}, {"required": ["cuts"]}]},
                },
            ]
        }
    )

    prefix: list[int] | None = Field(
        None, min_length=1, description="How many leading characters each level keeps: [3, 1]."
    )
    length: int | None = Field(
        None, ge=1, description="The length of all labels of `prefix`: that of the longest value."
    )
    intervals: list[Number] | None = Field(
        None,
        min_length=1,
        description="The width of the intervals of each level, each a multiple of the one before.",
    )
    origin: Number | None = Field(None, description="Where `intervals` are laid out from (0).")
    cuts: Annotated[list[list[Number]], BeforeValidator(_nest_cuts)] | None = Field(
        None,
        min_length=1,
        description="Cut points: [0, 18, 65, 120], or one such list per level, each keeping some.",
    )
    bottom: Number | None = Field(None, description="Smaller numbers become `< bottom`.")
    top: Number | None = Field(None, description="Numbers from here up become `>= top`.")
    calendar: Periods | None = Field(
        None, description="The periods of each level: day, month, quarter, year, decade."
    )
    tree: dict[str, Any] | None = Field(
        None,
        min_length=1,
        description="A taxonomy: {Europe: [France, Spain], Asia: {East: [Japan]}}.",
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="A CSV file without header: value;label;broader label;*. Relative to the policy.",
    )

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) > 1:
            raise ValueError(f"a hierarchy has one kind, not both '{kinds[0]}' and '{kinds[1]}'.")
        kind = kinds[0] if kinds else None
        for option, owners in OPTIONS.items():
            if getattr(self, option) is not None and kind not in owners:
                raise ValueError(f"'{option}' does not go with '{kind or 'nothing else'}'.")
        if kind is None and self.bottom is None and self.top is None:
            raise ValueError(f"a hierarchy needs one of: {', '.join(KINDS)}, bottom, top.")
        return self


KINDS = ("prefix", "intervals", "cuts", "calendar", "tree", "file")
OPTIONS: dict[str, tuple[str | None, ...]] = {
    "length": ("prefix",),
    "origin": ("intervals",),
    "bottom": ("intervals", "cuts", None),
    "top": ("intervals", "cuts", None),
}


# A day, a month and a year in any order, each once, with one mark between them.
DATE_FORMAT = r"^%(d(/%m/%Y|[.]%m[.]%Y|-%m-%Y)|m(/%d/%Y|[.]%d[.]%Y|-%d-%Y)|Y(/%m/%d|[.]%m[.]%d))$"


class WrittenReading(WrittenMapping):
    """How a text file is written, where its header does not say it."""

    delimiter: str | None = Field(None, min_length=1, description="What separates the columns.")
    encoding: str | None = Field(
        None, pattern="^(utf-8|utf-16|latin-1)$", description="utf-8 (default), utf-16 or latin-1."
    )
    multiline: bool | None = Field(
        None,
        description="Whether a cell in quotation marks may hold line ends (default); if not, each line "
        "is a row, whatever its quotation marks.",
    )


class WrittenColumn(WrittenMapping):
    """What an outsider can do with a column, and what is publicly known of its values."""

    role: ColumnRole = Field(description="What an outsider can do with the column.")
    kind: ColumnKind | None = Field(
        None,
        description="What the values are; a cell of a file that is none of it counts as missing.",
    )
    format: str | None = Field(
        None,
        pattern=DATE_FORMAT,
        description="How the dates of a text file are written, such as '%d/%m/%Y'; default: 2024-05-17.",
    )
    bounds: WrittenBounds | None = Field(
        None,
        description="The smallest and largest possible number, known without the data: [low, high]. "
        "{drafted: [low, high]} is a proposal from the data, which questions do not use until "
        "`drafted` is changed to `public`; `private` lets questions find bounds for a share of epsilon.",
    )
    values: WrittenValues | None = Field(
        None,
        description="All possible values in their natural order, known without the data. "
        "{drafted: […]} is a proposal from the data, which questions do not use until `drafted` is "
        "changed to `public`.",
    )
    hierarchy: WrittenHierarchy | None = None
    references: str | None = Field(
        None,
        pattern=r".\..",
        description="The column that this foreign key points to, as table.column.",
    )
    unsure: bool = Field(
        False, description="The role is a guess: nothing is published until this key is deleted."
    )

    @model_validator(mode="before")
    @classmethod
    def _may_be_short(cls, written: Any) -> Any:
        return {"role": written} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _has_dates_if_format(self) -> Self:
        if self.format is not None and self.kind != "date":
            raise ValueError("'format' belongs to `kind: date`. Add it, or leave out the format.")
        return self


People = Annotated[int, Field(ge=1, description="The fewest people in a class.")]
Sensitive = Annotated[Name, Field(description="The sensitive column.")]
Gap = Annotated[
    Missing,
    Field(description="Whether a missing value is unknown, and counts for nothing, or a value."),
]


class WrittenKAnonymity(WrittenMapping):
    """Every class has at least k people."""

    k: People


class WrittenKMap(WrittenMapping):
    """Every class has at least k people in the population."""

    k: People


class WrittenLDiversity(WrittenMapping):
    """Every class has l well-represented values of a sensitive column."""

    column: Sensitive
    l: float = Field(ge=1, description="How many values are well represented.")
    kind: DiversityKind = Field("distinct", description="What well represented means.")
    c: float | None = Field(
        None, gt=0, validate_default=True, description="The factor of the recursive kind."
    )
    missing: Gap = "unknown"

    @field_validator("c")
    @classmethod
    def _has_c_if_recursive(cls, c: float | None, info: ValidationInfo) -> float | None:
        kind = info.data.get("kind")
        if kind == "recursive" and c is None:
            raise ValueError("kind 'recursive' needs 'c', the factor of (c,l)-diversity.")
        if kind not in ("recursive", None) and c is not None:
            raise ValueError(f"'c' belongs to kind 'recursive', not to '{kind}'.")
        return c

    @field_validator("kind")
    @classmethod
    def _has_whole_l_if_recursive(cls, kind: str, info: ValidationInfo) -> str:
        if kind == "recursive" and info.data.get("l", 1) % 1:
            raise ValueError("kind 'recursive' needs a whole number 'l'.")
        return kind


class WrittenTCloseness(WrittenMapping):
    """Every class is within distance t of the table."""

    column: Sensitive
    t: float = Field(ge=0, le=1, description="The largest earth-mover distance.")
    distance: Distance = Field("equal", description="How far two values are apart.")
    missing: Gap = "unknown"


class WrittenAlphaK(WrittenMapping):
    """Classes of at least k people in which no value exceeds the share alpha."""

    column: Sensitive
    alpha: float = Field(gt=0, le=1, description="The largest share of one value in a class.")
    k: People
    missing: Gap = "unknown"


class WrittenDeltaPresence(WrittenMapping):
    """The chance that a person of the population is in the table stays within limits."""

    lower: float = Field(ge=0, le=1, description="The smallest chance.")
    upper: float = Field(ge=0, le=1, description="The largest chance.")

    @field_validator("upper")
    @classmethod
    def _is_not_below_lower(cls, upper: float, info: ValidationInfo) -> float:
        lower = info.data.get("lower", upper)
        if lower > upper:
            raise ValueError(f"'lower' {lower:g} is above 'upper' {upper:g}. Swap them.")
        return upper


class WrittenBetaLikeness(WrittenMapping):
    """No value's share in a class exceeds its share in the table by more than beta, relatively."""

    column: Sensitive
    beta: float = Field(gt=0, description="The largest relative gain.")
    kind: Literal["basic", "enhanced"] = Field(
        "basic", description="Whether the gain of frequent values is limited further."
    )
    missing: Gap = "unknown"


class WrittenDeltaDisclosure(WrittenMapping):
    """The logarithm of every value's share changes by less than delta."""

    column: Sensitive
    delta: float = Field(gt=0, description="The largest change of the logarithm.")
    missing: Gap = "unknown"


class WrittenCriterion(WrittenMapping):
    """A condition on classes, under its name."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    k_anonymity: WrittenKAnonymity | None = Field(None, alias="k-anonymity")
    k_map: WrittenKMap | None = Field(None, alias="k-map")
    l_diversity: WrittenLDiversity | None = Field(None, alias="l-diversity")
    t_closeness: WrittenTCloseness | None = Field(None, alias="t-closeness")
    alpha_k: WrittenAlphaK | None = Field(None, alias="alpha-k")
    delta_presence: WrittenDeltaPresence | None = Field(None, alias="delta-presence")
    beta_likeness: WrittenBetaLikeness | None = Field(None, alias="beta-likeness")
    delta_disclosure: WrittenDeltaDisclosure | None = Field(None, alias="delta-disclosure")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("each item holds one criterion. Begin each with a dash of its own.")
        return self


class WrittenTable(WrittenMapping):
    """One table: its source, unit, columns and the criteria it must meet."""

    id: Id | None = None
    source: str | None = Field(
        None,
        min_length=1,
        description="A file relative to the policy, a URL, or spark:schema.table.",
    )
    public: bool = Field(False, description="Whether every user may read the table as it is.")
    unit: WrittenUnit | None = Field(
        None,
        description="The column whose rows are one person's, or {column, per, on} for a person's "
        "month and the like; `row` where each row is a person.",
    )
    reading: WrittenReading | None = Field(
        None, description="How a text file is written, where its header does not say it."
    )
    columns: Annotated[dict[Name, WrittenColumn], Field(min_length=1)] = Field(
        description="The columns by name; `name: identifier` is short for `name: {role: identifier}`."
    )
    criteria: list[WrittenCriterion] = Field([], description="What the table must meet.")
    release: WrittenRelease | None = Field(None, description="How the table is published.")
    tolerance: Tolerance = Field(
        {},
        description="The share of people that an attack may expose: one for all, or by attack.",
    )
    budget: WrittenBudget | None = Field(None, description="The total budget for answers.")
    limits: WrittenLimits | None = Field(None, description="The most that one unit contributes.")
    partitions: Partitions = Field(
        {},
        json_schema_extra={"maxProperties": 1},
        description="The column whose parts of the table are charged apart, by value or period.",
    )


class WrittenPolicy(WrittenMapping):
    """What is protected: tables, the roles of their columns, and the criteria they must meet."""

    id: Id | None = None
    tables: Annotated[dict[Name, WrittenTable], Field(min_length=1)] = Field(
        description="The tables by name."
    )
    budget: WrittenBudget | None = Field(
        None, description="The budget for answers about all tables together."
    )


Model = TypeVar("Model", bound=WrittenMapping)
Place = tuple[str | int, ...]


def read_as(model: type[Model], written: Any) -> Model | list[ErrorDetails]:
    """Return `written` as a `model`, or everything that keeps it from being one."""
    try:
        return model.model_validate(written)
    except ValidationError as error:
        return error.errors(include_url=False)


def known_keys(place: Place) -> list[str]:
    """Return the keys that the mapping at `place` of a policy may have."""
    found: Any = WrittenPolicy
    for part in place:
        if isinstance(found, type) and issubclass(found, WrittenMapping):
            fields = found.model_fields
            field = next((f for n, f in fields.items() if part in (n, f.alias)), None)
            found = field.annotation if field else None
        else:
            found = next(iter(get_args(found)[-1:]), None)
        found = _unwrap_annotation(found)
    if not (isinstance(found, type) and issubclass(found, WrittenMapping)):
        return []
    return [field.alias or name for name, field in found.model_fields.items()]


def _unwrap_annotation(annotation: Any) -> Any:
    """Return the type of a key that is present: without Annotated and None."""
    while get_origin(annotation) in (Annotated, Union, UnionType):
        annotation = get_args(annotation)[0]
    return annotation
