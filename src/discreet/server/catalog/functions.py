"""Lookup functions of the catalog: their types and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from discreet.errors import StatementFailed
from discreet.server.catalog import privileges
from discreet.server.catalog.constraints import quote_identifier
from discreet.server.catalog.definitions import index_definition, trigger_definition
from discreet.server.catalog.lookups import (
    SHOWN,
    Path,
    find_class_oid,
    find_registered_oid,
    require_registered_oid,
)
from discreet.sql.types import BY_OID, format_type

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot

Implementation: TypeAlias = Callable[..., object]

OID, TEXT, INT, BOOL, LONG = "UINTEGER", "VARCHAR", "INTEGER", "BOOLEAN", "BIGINT"


@dataclass(frozen=True)
class CatalogFunction:
    """A function with a fixed number of arguments; all types are DuckDB's.

    With `path`, the search path is one more argument, as text. NULL for an
    argument gives NULL, except where `nulls`.
    """

    parameters: tuple[str, ...]
    returns: str
    make: Callable[[CatalogSnapshot], Implementation]
    path: bool = False
    nulls: bool = False


def written_path(path: Path) -> str:
    """Return schemas as one text, for functions that need them."""
    return "\0".join(path)


def read_path(text: str) -> Path:
    """Return schemas from the text of `written_path`."""
    return tuple(text.split("\0")) if text else ()


def _user_by_id(snapshot: CatalogSnapshot) -> Implementation:
    return lambda oid: snapshot.role_names.get(oid, f"unknown (OID={oid})")


def _constraint_definition(snapshot: CatalogSnapshot) -> Implementation:
    def define(oid: int, pretty: bool, path: str) -> str | None:
        found = snapshot.constraints.get(oid)
        if found is None:
            return None
        _, constraint = found
        target = constraint.target
        qualified = target is not None and (
            find_class_oid(snapshot, quote_identifier(target[1]), read_path(path))
            != snapshot.relation(target)
        )
        return constraint.definition(qualified=qualified, pretty=pretty)

    return define


def _define_index(snapshot: CatalogSnapshot) -> Implementation:
    def define(oid: int) -> str | None:
        found = snapshot.indexes.get(oid)
        return index_definition(*found) if found else None

    return define


def _define_index_column(snapshot: CatalogSnapshot) -> Implementation:
    def define(oid: int, number: int, _: bool) -> str | None:
        found = snapshot.indexes.get(oid)
        if found is None:
            return None
        seen, constraint = found
        if number == 0:
            return index_definition(seen, constraint)
        inside = 1 <= number <= len(constraint.columns)
        if not inside:
            return ""
        name = constraint.columns[number - 1]
        if not name and constraint.index is not None:
            return constraint.index.keys[number - 1]
        return quote_identifier(name)

    return define


def _find_serial_sequence(snapshot: CatalogSnapshot) -> Implementation:
    def find(table: str, column: str, path: str) -> str | None:
        oid = require_registered_oid(snapshot, "regclass", table, read_path(path))
        seen = snapshot.seen.get(oid)
        if seen is None or column not in {one.name for one in seen.columns}:
            raise StatementFailed("42703", f'column "{column}" does not exist')
        for key in snapshot.visible.relations:
            options = snapshot.visible.relations[key].relation.options
            if (key[0], options.get("table"), options.get("column")) == (*seen.key, column):
                return ".".join(map(quote_identifier, key))
        return None

    return find


def _object_comment(snapshot: CatalogSnapshot) -> Implementation:
    def find(oid: int, kind: str = "pg_class") -> str | None:
        seen = snapshot.seen.get(oid)
        return seen.relation.comment if seen is not None and kind == "pg_class" else None

    return find


def _column_comment(snapshot: CatalogSnapshot) -> Implementation:
    def find(oid: int, number: int) -> str | None:
        seen = snapshot.seen.get(oid)
        if seen is None or not 1 <= number <= len(seen.columns):
            return None
        return seen.columns[number - 1].comment

    return find


def _view_definition(snapshot: CatalogSnapshot) -> Implementation:
    def define(view: str, path: str) -> str | None:
        oid = require_registered_oid(snapshot, "regclass", view, read_path(path))
        seen = snapshot.seen.get(oid)
        if seen is None or not seen.is_owner or seen.relation.query is None:
            return None
        return f" {seen.relation.query.rstrip().rstrip(';')};"

    return define


def _define_trigger(snapshot: CatalogSnapshot) -> Implementation:
    found = {
        snapshot.attached("trigger", seen, trigger.name): (seen, trigger)
        for seen in snapshot.seen.values()
        if seen.is_owner
        for trigger in seen.relation.triggers
    }
    return lambda oid: trigger_definition(*found[oid]) if oid in found else None


def _table_is_visible(snapshot: CatalogSnapshot) -> Implementation:
    def is_visible(oid: int, path: str) -> bool | None:
        key = snapshot.class_names.get(oid)
        return (
            None
            if key is None
            else find_class_oid(snapshot, quote_identifier(key[1]), read_path(path)) == oid
        )

    return is_visible


def _type_is_visible(_: CatalogSnapshot) -> Implementation:
    return lambda oid: True if oid in BY_OID else None


def _show_function(kind: str) -> CatalogFunction:
    def make(snapshot: CatalogSnapshot) -> Implementation:
        return lambda oid, path: SHOWN[kind](snapshot, oid, read_path(path))

    return CatalogFunction((OID,), TEXT, make, path=True)


def _read(kind: str) -> CatalogFunction:
    def make(snapshot: CatalogSnapshot) -> Implementation:
        return lambda text, path: require_registered_oid(snapshot, kind, text, read_path(path))

    return CatalogFunction((TEXT,), OID, make, path=True)


def _try_read(kind: str) -> CatalogFunction:
    def make(snapshot: CatalogSnapshot) -> Implementation:
        return lambda text, path: (
            None if text.isdecimal() else find_registered_oid(snapshot, kind, text, read_path(path))
        )

    return CatalogFunction((TEXT,), OID, make, path=True)


def _privilege_functions(
    check: Callable[..., object], names: int
) -> tuple[CatalogFunction, CatalogFunction]:
    """Return a function about the current role, and one about a role given as first argument."""

    def own(snapshot: CatalogSnapshot) -> Implementation:
        role = snapshot.visible.role
        return lambda *given: check(snapshot, role, *given[:-1], read_path(given[-1]))

    def other(snapshot: CatalogSnapshot) -> Implementation:
        return lambda role, *given: check(
            snapshot, privileges.role_named(snapshot, role), *given[:-1], read_path(given[-1])
        )

    return (
        CatalogFunction((TEXT,) * (names + 1), BOOL, own, path=True),
        CatalogFunction((TEXT,) * (names + 2), BOOL, other, path=True),
    )


def _has_role(snapshot: CatalogSnapshot) -> Implementation:
    return lambda user, role, asked: privileges.in_role(
        snapshot,
        privileges.role_named(snapshot, user),
        privileges.role_named(snapshot, role),
        asked,
    )


def _has_role_self(snapshot: CatalogSnapshot) -> Implementation:
    return lambda role, asked: privileges.in_role(
        snapshot, snapshot.visible.role, privileges.role_named(snapshot, role), asked
    )


def _quote_literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"E'{escaped.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{escaped}'"


def _format(pattern: str, *given: object) -> str:
    """Return the result of format('%I.%I', …), for %s, %I, %L and %%."""
    rest = iter(given)
    out: list[str] = []
    parts = iter(pattern.split("%"))
    out.append(next(parts))
    for part in parts:
        letter, tail = part[:1], part[1:]
        match letter:
            case "s":
                out.append(str(next(rest, "") or ""))
            case "I":
                out.append(quote_identifier(str(next(rest, "") or "")))
            case "L":
                out.append(_quote_literal(str(next(rest, "") or "")))
            case _:
                out.append("%")
                tail = next(parts, "") if not letter else part
        out.append(tail)
    return "".join(out)


def _size_pretty(size: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(size) < 10240:
            return f"{size} {unit}"
        size = (size + 512) // 1024
    return f"{size} TB"


def _encoding_name(number: int) -> str:
    return {0: "SQL_ASCII", 6: "UTF8", 8: "LATIN1"}.get(number, "")


def _ignore_snapshot(call: Implementation) -> Callable[[CatalogSnapshot], Implementation]:
    return lambda _: call


def _function_table() -> dict[tuple[str, int], CatalogFunction]:
    found: dict[tuple[str, int], CatalogFunction] = {
        ("format_type", 2): CatalogFunction(
            (OID, INT), TEXT, _ignore_snapshot(format_type), nulls=True
        ),
        ("pg_get_userbyid", 1): CatalogFunction((OID,), TEXT, _user_by_id),
        ("pg_get_constraintdef", 2): CatalogFunction(
            (OID, BOOL), TEXT, _constraint_definition, path=True
        ),
        ("pg_get_indexdef", 1): CatalogFunction((OID,), TEXT, _define_index),
        ("pg_get_indexdef", 3): CatalogFunction((OID, INT, BOOL), TEXT, _define_index_column),
        ("pg_get_viewdef", 1): CatalogFunction((TEXT,), TEXT, _view_definition, path=True),
        ("pg_get_triggerdef", 1): CatalogFunction((OID,), TEXT, _define_trigger),
        ("obj_description", 1): CatalogFunction((OID,), TEXT, _object_comment),
        ("obj_description", 2): CatalogFunction((OID, TEXT), TEXT, _object_comment),
        ("col_description", 2): CatalogFunction((OID, INT), TEXT, _column_comment),
        ("pg_get_serial_sequence", 2): CatalogFunction(
            (TEXT, TEXT), TEXT, _find_serial_sequence, path=True
        ),
        ("pg_table_is_visible", 1): CatalogFunction((OID,), BOOL, _table_is_visible, path=True),
        ("pg_type_is_visible", 1): CatalogFunction((OID,), BOOL, _type_is_visible),
        ("pg_has_role", 2): CatalogFunction((TEXT, TEXT), BOOL, _has_role_self),
        ("pg_has_role", 3): CatalogFunction((TEXT, TEXT, TEXT), BOOL, _has_role),
        ("quote_ident", 1): CatalogFunction((TEXT,), TEXT, _ignore_snapshot(quote_identifier)),
        ("quote_literal", 1): CatalogFunction((TEXT,), TEXT, _ignore_snapshot(_quote_literal)),
        ("pg_size_pretty", 1): CatalogFunction((LONG,), TEXT, _ignore_snapshot(_size_pretty)),
        ("pg_encoding_to_char", 1): CatalogFunction((INT,), TEXT, _ignore_snapshot(_encoding_name)),
    }
    for count in range(1, 6):
        found["format", count] = CatalogFunction(
            (TEXT,) * count, TEXT, _ignore_snapshot(_format), nulls=True
        )
    for kind in SHOWN:
        found[f"_show_{kind}", 1] = _show_function(kind)
        found[f"_read_{kind}", 1] = _read(kind)
        found[f"to_{kind}", 1] = _try_read(kind)
    for name, check, names in (
        ("has_table_privilege", privileges.on_table, 1),
        ("has_any_column_privilege", privileges.on_any_column, 1),
        ("has_column_privilege", privileges.on_column, 2),
        ("has_schema_privilege", privileges.on_schema, 1),
        ("has_sequence_privilege", privileges.on_sequence, 1),
        ("has_database_privilege", privileges.on_database, 1),
    ):
        own, other = _privilege_functions(check, names)
        found[name, names + 1], found[name, names + 2] = own, other
    return found


FUNCTIONS: Mapping[tuple[str, int], CatalogFunction] = _function_table()
