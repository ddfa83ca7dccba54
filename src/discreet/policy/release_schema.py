"""The `release` of a policy file as it is written: how to publish a table, and which steps to take."""

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from discreet.errors import did_you_mean
from discreet.option_values import read_method_options
from discreet.policy.attack_tolerance import DEFAULT
from discreet.policy.base_schema import Name, Number, WrittenMapping
from discreet.policy.model import Utility
from discreet.registry import ATTACKS, METHODS

if TYPE_CHECKING:
    Method = str
else:
    Method = Literal[METHODS.names()]


def _parse_percentage(written: Any) -> Any:
    """Return `5%` as 0.05, and everything else as it is."""
    found = re.fullmatch(r"\s*([0-9.]+)\s*%\s*", written) if isinstance(written, str) else None
    try:
        return str(Decimal(found[1]) / 100) if found else written
    except ArithmeticError:  # 1.2.3%
        return written


def _require_distinct(names: list[str]) -> list[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            raise ValueError(f"column '{name}' is listed twice. Keep one of them.")
    return names


def _share_schema(**limits: float) -> WithJsonSchema:
    percent = {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$"}
    return WithJsonSchema({"anyOf": [{"type": "number", **limits, "maximum": 1}, percent]})


Limit = Annotated[
    float, Field(ge=0, le=1), BeforeValidator(_parse_percentage), _share_schema(minimum=0)
]
Share = Annotated[
    float, Field(gt=0, le=1), BeforeValidator(_parse_percentage), _share_schema(exclusiveMinimum=0)
]


def _by_attack(written: Any) -> Any:
    """Return one share as that of every attack."""
    return written if isinstance(written, dict) else {DEFAULT: written}


def _require_known_attacks(tolerance: dict[str, float]) -> dict[str, float]:
    for name in tolerance:
        if name != DEFAULT and name not in ATTACKS:
            near = did_you_mean(name, (*ATTACKS, DEFAULT))
            raise ValueError(f"there is no attack '{name}'.{near}")
    return tolerance


Tolerance = Annotated[
    dict[str, Limit], BeforeValidator(_by_attack), AfterValidator(_require_known_attacks)
]
Names = Annotated[list[Name], Field(min_length=1), AfterValidator(_require_distinct)]
Rows = Annotated[int, Field(ge=2, description="The fewest rows that become alike.")]
Numeric = Annotated[Name, Field(description="A column of numbers.")]


class WrittenClip(WrittenMapping):
    """Numbers beyond a bound become the bound."""

    column: Numeric
    bounds: tuple[Number, Number] = Field(description="The smallest and largest number to publish.")

    @field_validator("bounds")
    @classmethod
    def _has_bounds_in_order(cls, bounds: tuple[Decimal, Decimal]) -> tuple[Decimal, Decimal]:
        low, high = bounds
        if low > high:
            raise ValueError(f"lower bound {low} is above upper bound {high}. Swap them.")
        return bounds


class WrittenTopCode(WrittenMapping):
    """Numbers above a bound become the bound."""

    column: Numeric
    at: Number = Field(description="The largest number to publish.")


class WrittenBottomCode(WrittenMapping):
    """Numbers below a bound become the bound."""

    column: Numeric
    at: Number = Field(description="The smallest number to publish.")


class WrittenRound(WrittenMapping):
    """Numbers become the nearest multiple of a base."""

    column: Numeric
    base: Number = Field(gt=0, description="What every published number is a multiple of.")


class WrittenMicroaggregate(WrittenMapping):
    """Groups of similar rows get the means of their numbers."""

    columns: Names = Field(description="Columns of numbers, grouped together.")
    k: Rows
    method: Literal["mdav", "univariate"] = Field(
        "mdav", description="How groups are made; univariate is the optimum of one column."
    )

    @model_validator(mode="after")
    def _has_one_column_if_univariate(self) -> Self:
        if self.method == "univariate" and len(self.columns) > 1:
            raise ValueError(
                "method 'univariate' groups by one column. Write a step for each, or use 'mdav'."
            )
        return self


class WrittenPram(WrittenMapping):
    """Values are replaced by chance, such that each is expected as often as before."""

    column: Name = Field(description="The column whose values change.")
    keep: Share = Field(description="The share of rows expected to keep their value.")


class WrittenSwap(WrittenMapping):
    """Pairs of rows that agree on some columns exchange their values of others."""

    columns: Names = Field(description="The columns whose values are exchanged together.")
    match: Annotated[list[Name], AfterValidator(_require_distinct)] = Field(
        [], description="The columns on which the rows of a pair agree."
    )
    share: Share = Field(description="The share of rows that exchange values.")

    @field_validator("match")
    @classmethod
    def _is_not_swapped(cls, match: list[str], info: Any) -> list[str]:
        for name in match:
            if name in info.data.get("columns", []):
                raise ValueError(f"column '{name}' cannot be both swapped and matched. Choose one.")
        return match


class WrittenRankSwap(WrittenMapping):
    """Pairs of rows of near rank exchange their values."""

    column: Name = Field(description="A column of numbers or dates.")
    window: Share = Field(description="How far apart two ranks may be, as a share of all.")


class WrittenNoise(WrittenMapping):
    """Gaussian noise is added to numbers; this is not differential privacy."""

    column: Numeric
    scale: float = Field(gt=0, description="The noise's standard deviations per the column's.")


class WrittenSuppressCells(WrittenMapping):
    """Cells become `*` until k people agree."""

    k: Annotated[int, Field(ge=2, description="The fewest people who agree.")]
    columns: Names | None = Field(None, description="Default: the quasi-identifiers.")
    method: Literal["greedy", "optimal"] = Field(
        "greedy", description="Few cells quickly, or the fewest."
    )


class WrittenStep(WrittenMapping):
    """What is done to some columns, under its name."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    clip: WrittenClip | None = None
    top_code: WrittenTopCode | None = Field(None, alias="top-code")
    bottom_code: WrittenBottomCode | None = Field(None, alias="bottom-code")
    round: WrittenRound | None = None
    microaggregate: WrittenMicroaggregate | None = None
    pram: WrittenPram | None = None
    swap: WrittenSwap | None = None
    rank_swap: WrittenRankSwap | None = Field(None, alias="rank-swap")
    noise: WrittenNoise | None = None
    suppress_cells: WrittenSuppressCells | None = Field(None, alias="suppress-cells")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("each item holds one step. Begin each with a dash of its own.")
        return self


Weight = Annotated[float, Field(ge=0)]


class WrittenRelease(WrittenMapping):
    """How a table is published: method, limits of loss, and further steps."""

    method: Method = Field("local", description="How values become coarser.")
    suppress: Limit = Field(0.0, description="The share of rows that may be left out, such as 5%.")
    utility: Utility = Field("loss", description="What is to be lost least.")
    weights: dict[Name, Weight] = Field(
        {}, description="What the loss of a quasi-identifier counts; 1 where it is not listed."
    )
    target: Name | None = Field(
        None, description="The column to predict, with the utility classification."
    )
    options: dict[Name, bool | int | float | str | list[str]] = Field(
        {}, description="Options of the method, by their names."
    )
    leave_out: Names | None = Field(
        None, alias="leave-out", description="Columns that are not published."
    )
    publish_weight: bool = Field(
        False,
        alias="publish-weight",
        description="Whether the sampling weights are published; a rare weight singles people out.",
    )
    steps: list[WrittenStep] = Field([], description="What is done first, in this order.")

    @model_validator(mode="after")
    def _has_options_of_its_method(self) -> Self:
        read_method_options(METHODS.get(self.method), self.options)
        return self

    @model_validator(mode="after")
    def _has_target_if_classification(self) -> Self:
        if self.utility == "classification" and self.target is None:
            raise ValueError("utility 'classification' needs 'target', the column to predict.")
        return self
