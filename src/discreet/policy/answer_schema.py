"""The keys of a policy file about answering: units, budgets, limits, partitions, workloads."""

from decimal import Decimal
from typing import Annotated, Any, Self

from pydantic import Field, WithJsonSchema, model_validator

from discreet.policy.answer_model import Accounting, Parts
from discreet.policy.base_schema import Name, WrittenMapping
from discreet.policy.hierarchies.calendar import Period

# YAML 1.1 reads `1e-6` as text, YAML 1.2 as a number: editors must accept both.
_SCIENTIFIC = {"type": "string", "pattern": r"^[0-9.]+[eE]-?[0-9]+$"}
Epsilon = Annotated[
    Decimal,
    Field(gt=0),
    WithJsonSchema({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _SCIENTIFIC]}),
]
Delta = Annotated[
    Decimal,
    Field(ge=0, lt=1),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 0, "exclusiveMaximum": 1}, _SCIENTIFIC]}
    ),
]
Most = Annotated[int, Field(ge=1)]
# Separators of the ledger's accounts (`/`, `@`, `#`, `:`) cannot be part of an id.
Id = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{3,79}$",
        description="Which account of the ledger pays, wherever the data is; drafted at random.",
    ),
]

EPSILON = "The total budget for answers; smaller is more private."
DELTA = "The chance that epsilon does not hold."
PERIOD_OF_BUDGET = "The period after which the budget is whole again; the promise is per period."
ACCOUNTING = "How prices add up: approximate (epsilons and deltas), or zcdp, which needs a delta."


class WrittenUnit(WrittenMapping):
    """The unit of a row: one person, or one person in one period."""

    column: Name = Field(description="The column whose rows are one person's.")
    per: Period | None = Field(None, description="The period, such as month: a person's month.")
    on: Name | None = Field(None, description="The column of dates that determines the period.")

    @model_validator(mode="before")
    @classmethod
    def _may_be_short(cls, written: Any) -> Any:
        return {"column": written} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _has_both_or_neither(self) -> Self:
        if (self.per is None) != (self.on is None):
            raise ValueError(
                "'per' and 'on' go together: the period, and the column of dates. Add the other."
            )
        if self.on == self.column:
            raise ValueError("'on' names a column of dates, not the unit's own column.")
        return self


class WrittenAnalystBudget(WrittenMapping):
    """The budget of one analyst; missing keys are as in the budget around it."""

    epsilon: Epsilon = Field(description=EPSILON)
    delta: Delta | None = Field(None, description=DELTA)
    accounting: Accounting | None = Field(None, description=ACCOUNTING)
    per: Period | None = Field(None, description=PERIOD_OF_BUDGET)


class WrittenBudget(WrittenMapping):
    """The total budget, and those of single analysts."""

    epsilon: Epsilon = Field(description=EPSILON)
    delta: Delta = Field(Decimal(0), description=DELTA)
    accounting: Accounting = Field("approximate", description=ACCOUNTING)
    per: Period | None = Field(None, description=PERIOD_OF_BUDGET)
    analysts: dict[Name, WrittenAnalystBudget] = Field(
        {}, description="The budgets of analysts by name; * is for all analysts who are not named."
    )

    @model_validator(mode="after")
    def _has_delta_if_zcdp(self) -> Self:
        if self.accounting == "zcdp" and not self.delta:
            raise ValueError("accounting 'zcdp' needs a 'delta' above 0, such as 1e-6.")
        for name, analyst in self.analysts.items():
            delta = self.delta if analyst.delta is None else analyst.delta
            if (analyst.accounting or self.accounting) == "zcdp" and not delta:
                raise ValueError(
                    f"accounting 'zcdp' needs a 'delta' above 0. Give one to analyst '{name}'."
                )
        return self


class WrittenLimits(WrittenMapping):
    """The most that one unit contributes to an answer; what is beyond is left out by chance."""

    rows_per_unit: Most | None = Field(
        None, alias="rows-per-unit", description="Rows of one unit in the whole table."
    )
    groups_per_unit: Most | None = Field(
        None, alias="groups-per-unit", description="Groups of an answer that hold one unit."
    )
    rows_per_group: Most | None = Field(
        None, alias="rows-per-group", description="Rows of one unit within one group."
    )


class WrittenWorkload(WrittenMapping):
    """Questions that are answered together and paid for once."""

    queries: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)] = Field(
        description="The questions, each a SELECT with aggregates."
    )
    epsilon: Epsilon = Field(description="What all of them cost together.")
    delta: Annotated[Delta, Field(gt=0)] = Field(
        description="The chance that epsilon does not hold, such as 1e-6."
    )


Partitions = dict[Name, Parts]
