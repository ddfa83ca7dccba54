"""Names and OIDs of objects: what `'patients'::regclass` and its reverse mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.server.catalog.constraints import quote_identifier
from discreet.server.catalog.standard import SYSTEM, function_rows
from discreet.sql.types import BY_OID, format_type, parse_known_type

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot

Path = tuple[str, ...]  # of schemas

_PART = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^".\s]+))\s*(?:\.|$)')


def split_name(text: str) -> tuple[str, ...] | None:
    """Return the parts of an SQL name, or None when it is not one.

    >>> split_name('Public."A.b"'), split_name("a..b")
    (('public', 'A.b'), None)
    """
    parts: list[str] = []
    place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None:
            return None
        exact, folded = match.groups()
        parts.append(folded.lower() if folded is not None else exact.replace('""', '"'))
        place = match.end()
    return tuple(parts) if parts and not text.rstrip().endswith(".") else None


def find_class_oid(snapshot: CatalogSnapshot, text: str, path: Path) -> int | None:
    """Return the OID of a relation or index by name."""
    match split_name(text):
        case (name,):
            found = (snapshot.class_oids.get((schema, name)) for schema in (SYSTEM, *path))
            return next((oid for oid in found if oid is not None), None)
        case (schema, name) | (_, schema, name):
            return snapshot.class_oids.get((schema, name))
        case _:
            return None


def find_type_oid(_: CatalogSnapshot, text: str, __: Path) -> int | None:
    """Return the OID of a type by name."""
    known = parse_known_type(text)
    return known.oid if known else None


def find_schema_oid(snapshot: CatalogSnapshot, text: str, _: Path) -> int | None:
    """Return the OID of a schema by name."""
    match split_name(text):
        case (name,):
            oid = snapshot.schema(name)
            return oid if oid in snapshot.schema_names else None
        case _:
            return None


def find_role_oid(snapshot: CatalogSnapshot, text: str, _: Path) -> int | None:
    """Return the OID of a role by name."""
    match split_name(text):
        case (name,) if name in snapshot.visible.authority.roles:
            return snapshot.role(name)
        case _:
            return None


def find_function_oid(_: CatalogSnapshot, text: str, __: Path) -> int | None:
    """Return the OID of a function by name."""
    parts = split_name(text.partition("(")[0])
    wanted = parts[-1] if parts else None
    found = (row["oid"] for row in function_rows() if row["proname"] == wanted)
    return next((int(str(oid)) for oid in found), None)


def show_class(snapshot: CatalogSnapshot, oid: int, path: Path) -> str:
    """Return the name of a relation, with its schema where that is needed to find it."""
    key = snapshot.class_names.get(oid)
    if key is None:
        return "-" if oid == 0 else str(oid)
    schema, name = key
    plain = quote_identifier(name)
    return (
        plain
        if find_class_oid(snapshot, plain, path) == oid
        else f"{quote_identifier(schema)}.{plain}"
    )


def show_type(_: CatalogSnapshot, oid: int, __: Path) -> str:
    """Return the name of a type."""
    known = oid == 0 or oid in BY_OID
    return format_type(oid, None) or "-" if known else str(oid)


def show_schema(snapshot: CatalogSnapshot, oid: int, _: Path) -> str:
    """Return the name of a schema."""
    name = snapshot.schema_names.get(oid)
    return quote_identifier(name) if name is not None else _unknown_name(oid)


def show_role(snapshot: CatalogSnapshot, oid: int, _: Path) -> str:
    """Return the name of a role."""
    name = snapshot.role_names.get(oid)
    return quote_identifier(name) if name is not None else _unknown_name(oid)


def show_function(_: CatalogSnapshot, oid: int, __: Path) -> str:
    """Return the name of a function."""
    found = (str(row["proname"]) for row in function_rows() if row["oid"] == oid)
    return next(found, _unknown_name(oid))


def _unknown_name(oid: int) -> str:
    return "-" if oid == 0 else str(oid)


_FINDERS: Mapping[str, tuple[Callable[[CatalogSnapshot, str, Path], int | None], str, str]] = {
    "regclass": (find_class_oid, "42P01", "relation"),
    "regtype": (find_type_oid, "42704", "type"),
    "regnamespace": (find_schema_oid, "3F000", "schema"),
    "regrole": (find_role_oid, "42704", "role"),
    "regproc": (find_function_oid, "42883", "function"),
    "regprocedure": (find_function_oid, "42883", "function"),
}
SHOWN: Mapping[str, Callable[[CatalogSnapshot, int, Path], str]] = {
    "regclass": show_class,
    "regtype": show_type,
    "regnamespace": show_schema,
    "regrole": show_role,
    "regproc": show_function,
    "regprocedure": show_function,
}


def find_registered_oid(snapshot: CatalogSnapshot, kind: str, text: str, path: Path) -> int | None:
    """Return the OID that a text of such a type means: a number or a name; None for a missing name."""
    text = text.strip()
    if text == "-":
        return 0
    if text.isdecimal():
        return int(text) if int(text) < 2**32 else None
    return _FINDERS[kind][0](snapshot, text, path)


def require_registered_oid(snapshot: CatalogSnapshot, kind: str, text: str, path: Path) -> int:
    """Return the OID that a text of such a type means.

    Raises:
        StatementFailed: There is no such object, or none that the role may know of.
    """
    found = find_registered_oid(snapshot, kind, text, path)
    if found is None:
        _, sqlstate, what = _FINDERS[kind]
        raise StatementFailed(sqlstate, f'{what} "{text.strip()}" does not exist')
    return found
