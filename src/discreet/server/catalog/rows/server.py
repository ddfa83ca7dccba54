"""Rows about the server, the same for every user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.server.catalog.snapshot import DATABASE
from discreet.server.catalog.standard import (
    Row,
    function_rows,
    keyword_rows,
    operator_class_rows,
    type_rows,
)

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot

_LOCALE = "C.UTF-8"
_KEYWORDS = {
    "U": "unreserved",
    "C": "unreserved (cannot be function or type name)",
    "T": "reserved (can be function or type name)",
    "R": "reserved",
}


def pg_database(snapshot: CatalogSnapshot) -> Iterator[Row]:
    """Return the one database."""
    yield {
        "oid": DATABASE,
        "datname": snapshot.database,
        "datdba": 10,
        "encoding": 6,
        "datlocprovider": "c",
        "datallowconn": True,
        "datconnlimit": -1,
        "dattablespace": 1663,
        "datcollate": _LOCALE,
        "datctype": _LOCALE,
    }


def pg_type(_: CatalogSnapshot) -> Iterator[Row]:
    """Return types; those of relations are not listed."""
    for row in type_rows():
        yield {**row, "typnamespace": 11, "typowner": 10, "typisdefined": True, "typtypmod": -1}


def pg_proc(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the functions of types."""
    yield from function_rows()


def pg_opclass(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the operator classes of types."""
    yield from operator_class_rows()


def pg_am(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the access methods of tables and indexes."""
    yield {"oid": 2, "amname": "heap", "amtype": "t"}
    yield {"oid": 403, "amname": "btree", "amtype": "i"}


def pg_language(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the languages of functions."""
    for oid, name in ((12, "internal"), (13, "c"), (14, "sql")):
        yield {"oid": oid, "lanname": name, "lanowner": 10, "lanpltrusted": name == "sql"}


def pg_tablespace(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the tablespaces that every PostgreSQL has."""
    for oid, name in ((1663, "pg_default"), (1664, "pg_global")):
        yield {"oid": oid, "spcname": name, "spcowner": 10}


def pg_collation(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the collations."""
    for oid, name, provider in ((100, "default", "d"), (950, "C", "c"), (951, "POSIX", "c")):
        yield {
            "oid": oid,
            "collname": name,
            "collnamespace": 11,
            "collowner": 10,
            "collprovider": provider,
            "collisdeterministic": True,
            "collencoding": -1,
            "collcollate": None if name == "default" else name,
            "collctype": None if name == "default" else name,
        }


def pg_timezone_names(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the names of time zones."""
    from zoneinfo import available_timezones

    for name in sorted(available_timezones()):
        yield {"name": name}


def pg_keywords(_: CatalogSnapshot) -> Iterator[Row]:
    """Return the result of pg_get_keywords()."""
    for row in keyword_rows():
        bare = row["barelabel"] == "t"
        yield {
            "word": row["word"],
            "catcode": row["catcode"],
            "barelabel": bare,
            "catdesc": _KEYWORDS[row["catcode"]],
            "baredesc": "can be bare label" if bare else "requires AS",
        }
