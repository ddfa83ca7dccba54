"""The catalogs and types that every PostgreSQL has, from `data/catalog`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TypeAlias

Row: TypeAlias = dict[str, object]

SYSTEM = "pg_catalog"
INFORMATION = "information_schema"
SCHEMAS: Mapping[str, int] = {SYSTEM: 11, INFORMATION: 13111}

# Types whose values are OIDs, and those that are shown as names.
REGISTERED = frozenset(
    {"regclass", "regtype", "regnamespace", "regrole", "regproc", "regprocedure"}
)
NUMBERED = REGISTERED | {"oid", "xid", "cid", "regoper", "regoperator"}
# Domains of information_schema, by their base type.
_DOMAINS = {
    "sql_identifier": "name",
    "character_data": "varchar",
    "yes_or_no": "varchar",
    "cardinal_number": "int4",
    "time_stamp": "timestamptz",
}


@dataclass(frozen=True)
class CatalogColumn:
    """A column of a catalog relation; `type` is a name in pg_type."""

    name: str
    type: str
    not_null: bool


@dataclass(frozen=True)
class SystemRelation:
    """A relation that every database has."""

    schema: str
    name: str
    kind: str  # as in pg_class.relkind
    oid: int
    columns: tuple[CatalogColumn, ...]

    def column(self, name: str) -> CatalogColumn | None:
        """Return the column called `name`, or None."""
        return next((column for column in self.columns if column.name == name), None)


def _read(name: str) -> list[dict[str, str]]:
    text = (files("discreet") / "data" / "catalog" / f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _parse_columns(text: str) -> tuple[CatalogColumn, ...]:
    words = text.split(" ")
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple(
        CatalogColumn(
            name, _DOMAINS.get(bare := type_.removesuffix("!"), bare), type_.endswith("!")
        )
        for name, type_ in pairs
    )


@cache
def system_relations() -> Mapping[tuple[str, str], SystemRelation]:
    """Return the catalog's own relations by schema and name.

    >>> system_relations()["pg_catalog", "pg_class"].oid
    1259
    """
    return {
        (row["schema"], row["relation"]): SystemRelation(
            row["schema"],
            row["relation"],
            row["kind"],
            int(row["oid"]),
            _parse_columns(row["columns"]),
        )
        for row in _read("relations")
    }


@cache
def type_rows() -> tuple[Row, ...]:
    """Return the rows of pg_type."""
    return tuple(_parse_row(row, relation="pg_type") for row in _read("types"))


@cache
def function_rows() -> tuple[Row, ...]:
    """Return the rows of pg_proc: the functions of types."""
    rows = [_parse_row(row, relation="pg_proc") for row in _read("functions")]
    common: Row = {
        "pronamespace": 11,
        "proowner": 10,
        "prolang": 12,
        "procost": 1.0,
        "prorows": 0.0,
    }
    common |= {"proparallel": "s", "prosecdef": False, "proleakproof": False, "pronargdefaults": 0}
    common |= {"provariadic": 0, "prosupport": 0}
    return tuple({**common, **row} for row in rows)


@cache
def operator_class_rows() -> tuple[Row, ...]:
    """Return the rows of pg_opclass: how B-trees order the types."""
    common: Row = {"opcnamespace": 11, "opcowner": 10}
    return tuple(
        {**common, **_parse_row(row, relation="pg_opclass")} for row in _read("operator_classes")
    )


@cache
def keyword_rows() -> tuple[dict[str, str], ...]:
    """Return PostgreSQL's keywords: `word`, `catcode` and `barelabel`."""
    return tuple(_read("keywords"))


@cache
def reserved_words() -> frozenset[str]:
    """Return the keywords that are not names unless they are quoted."""
    return frozenset(row["word"] for row in keyword_rows() if row["catcode"] != "U")


def _parse_row(row: dict[str, str], *, relation: str) -> Row:
    kinds = {each.name: each.type for each in system_relations()[SYSTEM, relation].columns}
    return {name: _parse_value(text, kinds[name]) for name, text in row.items()}


def _parse_value(text: str, kind: str) -> object:
    match kind:
        case "bool":
            return text == "t"
        case "oid" | "int2" | "int4" | "regproc":
            return int(text)
        case "oidvector":
            return [int(word) for word in text.split(" ") if word]
        case _:
            return text
