"""The keys of a policy file about rules that hold in every row."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from discreet.policy.base_schema import Name, Word, WrittenMapping
from discreet.policy.domain import has_dates
from discreet.policy.rules import (
    DeclaredDependency,
    DeclaredImpossible,
    DeclaredOrder,
    DeclaredRule,
    DeclaredSum,
    ValueCondition,
    read_rule_file,
)

if TYPE_CHECKING:
    from discreet.policy.document import Document, Place

_SCALAR: dict[str, Any] = {"type": ["string", "number", "boolean"]}
_CONDITION: dict[str, Any] = {
    "anyOf": [
        _SCALAR,
        {"type": "array", "items": _SCALAR, "minItems": 1},
        {
            "type": "object",
            "properties": {"below": _SCALAR, "above": _SCALAR, "missing": {"const": True}},
            "additionalProperties": False,
            "minProperties": 1,
        },
    ]
}
_KEYS = ("below", "above", "missing")


def read_condition(written: Any) -> ValueCondition:
    """Return a condition of `never` as it is written; raises `ValueError` if it is none."""
    if isinstance(written, str):
        return ValueCondition((written,))
    if isinstance(written, list) and written and all(isinstance(one, str) for one in written):
        return ValueCondition(tuple(written))
    if not isinstance(written, dict) or not written or set(written) - set(_KEYS):
        raise ValueError(
            "a condition is a value, a list of values, or keys and values of: below, above, missing."
        )
    if "missing" in written and (len(written) > 1 or str(written["missing"]).lower() != "true"):
        raise ValueError("write `missing: true`, without other keys.")
    ends = {key: _read_limit(written[key]) for key in ("below", "above") if key in written}
    return ValueCondition(**cast("Any", ends), is_missing="missing" in written)


def _read_limit(written: Any) -> str:
    text = written.strip() if isinstance(written, str) else ""
    try:
        if has_dates([text]) or Decimal(text).is_finite():
            return text
    except InvalidOperation:
        pass
    raise ValueError(
        "`below` and `above` are followed by a number or a date, such as 18 or 2024-01-01."
    )


def _as_list(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


Condition = Annotated[Any, BeforeValidator(read_condition), WithJsonSchema(_CONDITION)]
OneOrMore = Annotated[
    list[Name],
    BeforeValidator(_as_list),
    Field(min_length=1),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR, "minItems": 1}]}),
]
TwoOrMore = Annotated[list[Name], Field(min_length=2)]


class WrittenDependency(WrittenMapping):
    """A column that is a function of others."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["map"]}, {"required": ["file"]}]}
    )

    determinants: OneOrMore = Field(
        alias="from", description="The column, or columns, that decide."
    )
    to: Name = Field(description="The column that follows from them.")
    map: dict[Word, Word] | None = Field(
        None, min_length=1, description="The value of `to` for each value of `from`: {HS-grad: 9}."
    )
    file: str | None = Field(
        None,
        min_length=1,
        description="A CSV file without header instead: values of `from`;value of `to`. Relative to the policy.",
    )

    @model_validator(mode="after")
    def _has_one_table(self) -> Self:
        if (self.map is None) == (self.file is None):
            raise ValueError("a dependency needs one of: map, file.")
        if self.map is not None and len(self.determinants) > 1:
            raise ValueError("a `map` is for one column. Write a `file` for several.")
        if len({self.to, *self.determinants}) <= len(self.determinants):
            raise ValueError("a column is named twice. Name each once.")
        return self


class WrittenSum(WrittenMapping):
    """A column that is the sum of others."""

    total: Name = Field(description="The sum.")
    parts: TwoOrMore = Field(description="What is added.")

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        if len({self.total, *self.parts}) <= len(self.parts):
            raise ValueError("a column is named twice. Name each once.")
        return self


class WrittenRule(WrittenMapping):
    """What holds in every row, under its name."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    dependency: WrittenDependency | None = None
    order: TwoOrMore | None = Field(
        None, description="Columns, each at most the next one: [admitted, discharged]."
    )
    never: Annotated[dict[Name, Condition], Field(min_length=1)] | None = Field(
        None, description="Conditions that no row meets together: {sex: male, pregnant: true}."
    )
    sum: WrittenSum | None = None

    @model_validator(mode="after")
    def _is_one_rule(self) -> Self:
        if len(self.model_fields_set) != 1:
            raise ValueError("each item holds one rule. Begin each with a dash of its own.")
        if self.order is not None and len(set(self.order)) < len(self.order):
            raise ValueError("a column is named twice. Name each once.")
        return self


def build_rules(
    written: list[WrittenRule], *, folder: Path, document: "Document", place: "Place"
) -> tuple[DeclaredRule, ...]:
    """Return the rules of a table; files were found to be readable before."""
    return tuple(
        build_rule(rule, folder=folder, line=document.line((*place, index)))
        for index, rule in enumerate(written)
    )


def build_rule(written: WrittenRule, *, folder: Path, line: int) -> DeclaredRule:
    """Return one rule.

    Raises:
        InvalidPolicy: Its file cannot be read.
    """
    if written.dependency is not None:
        found = written.dependency
        rows = (
            tuple((found.map or {}).items())
            if found.file is None
            else read_rule_file(folder / found.file, file=found.file, width=len(found.determinants))
        )
        return DeclaredDependency(found.to, tuple(found.determinants), rows, found.file, line=line)
    if written.order is not None:
        return DeclaredOrder(tuple(written.order), line=line)
    if written.sum is not None:
        return DeclaredSum(written.sum.total, tuple(written.sum.parts), line=line)
    return DeclaredImpossible(tuple((written.never or {}).items()), line=line)
