"""The schema of a policy file: its keys, and what each may hold."""

import dataclasses
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import ErrorDetails

from discreet.criteria.criterion import parameter_types
from discreet.policy.answer_schema import (
    Id,
    Partitions,
    WrittenBudget,
    WrittenLimits,
    WrittenUnit,
    WrittenWorkload,
)
from discreet.policy.base_schema import Name, Number, WrittenMapping
from discreet.policy.domain import WrittenBounds, WrittenValues
from discreet.policy.hierarchies.calendar import Period
from discreet.policy.model import ColumnKind, ColumnRole
from discreet.policy.reading_schema import WrittenCells, WrittenReading
from discreet.policy.release_schema import Tolerance, WrittenRelease
from discreet.policy.rules_schema import WrittenRule
from discreet.registry import CRITERIA, CriterionSpec

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


class WrittenColumn(WrittenCells):
    """What an outsider can do with a column, and what is publicly known of its values."""

    role: ColumnRole = Field(description="What an outsider can do with the column.")
    kind: ColumnKind | None = Field(
        None,
        description="What the values are; a cell of a file that is none of it counts as missing.",
    )
    bounds: WrittenBounds | None = Field(
        None,
        description="The smallest and largest possible number or date, known without the data: [low, high]. "
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
    ordered: bool = Field(
        True,
        description="Whether numbers lie on a scale. false: they are codes of categories, which are kept "
        "or hidden, and not put into ranges.",
    )
    unsure: bool = Field(
        False, description="The role is a guess: nothing is published until this key is deleted."
    )

    @model_validator(mode="before")
    @classmethod
    def _may_be_short(cls, written: Any) -> Any:
        return {"role": written} if isinstance(written, str) else written


def _make_written_criterion(spec: CriterionSpec) -> type[WrittenMapping]:
    """Return the parameters of a criterion as a mapping of the file."""
    kind = spec.criterion
    fields: dict[str, Any] = {}
    defaults = {one.name: one.default for one in dataclasses.fields(kind)}
    for name, (written, stated) in parameter_types(kind).items():
        default = defaults[name]
        fields[name] = (
            Name if written is str else written,
            Field(
                ... if default is dataclasses.MISSING else default,
                ge=stated.at_least,
                gt=stated.above,
                le=stated.at_most,
                description=stated.summary,
            ),
        )

    def is_consistent(self: WrittenMapping) -> WrittenMapping:
        kind(**self.model_dump()).check()
        return self

    return create_model(
        f"Written{kind.__name__}",
        __base__=WrittenMapping,
        __doc__=spec.summary,
        __validators__={"is_consistent": cast("Any", model_validator(mode="after")(is_consistent))},
        **fields,
    )


class _OneCriterion(WrittenMapping):
    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("each item holds one criterion. Begin each with a dash of its own.")
        return self


if TYPE_CHECKING:
    WrittenCriterion = _OneCriterion
else:
    WrittenCriterion = create_model(
        "WrittenCriterion",
        __base__=_OneCriterion,
        __doc__="A condition on classes, under its name.",
        **{
            spec.name.replace("-", "_"): (
                _make_written_criterion(spec) | None,
                Field(None, alias=spec.name),
            )
            for spec in CRITERIA.all()
        },
    )


class WrittenTable(WrittenMapping):
    """One table: its source, unit, columns and the criteria it must meet."""

    id: Id | None = None
    distinct_from: list[str] = Field(
        [],
        alias="distinct-from",
        description="Ids of tables whose rows look like this table's, and are other people's.",
    )
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
    rules: list[WrittenRule] = Field(
        [],
        description="What holds in every row, known without the data; synthetic rows keep to it.",
    )
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
    workloads: dict[Name, WrittenWorkload] = Field(
        {}, description="Questions that are asked together, by name: discreet ask --workload NAME."
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
