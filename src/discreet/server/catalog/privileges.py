"""has_table_privilege and related functions, for relations and columns the role may know of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.acl import may_grant
from discreet.guard.access.authority import PUBLIC, Privilege, Relation
from discreet.guard.access.decide import (
    any_column_privilege,
    can_set,
    has_privs_of,
    is_admin_of,
    is_superuser,
    privilege_on,
    reach,
    relation_acl,
    schema_privilege,
)
from discreet.server.catalog.lookups import Path, find_registered_oid, require_registered_oid
from discreet.server.catalog.standard import SCHEMAS

if TYPE_CHECKING:
    from discreet.server.catalog.snapshot import CatalogSnapshot
    from discreet.server.catalog.visibility import VisibleRelation

_OPTION = " WITH GRANT OPTION"
_OTHER = {"MAINTAIN", "RULE"}  # PostgreSQL's, which no role has here


def _parse_privileges(text: str, known: set[str]) -> Iterator[tuple[str, bool]]:
    for word in text.upper().split(","):
        plain = " ".join(word.split())
        name = plain.removesuffix(_OPTION)
        if name not in known:
            raise StatementFailed("22023", "unrecognized privilege type")
        yield name, plain != name


def role_named(snapshot: CatalogSnapshot, text: str) -> str:
    """Return the role that a name or OID means; PUBLIC for `public`."""
    if text == "public":
        return PUBLIC
    if text.isdecimal():
        name = snapshot.role_names.get(int(text))
    else:
        name = text if text in snapshot.visible.authority.roles else None
    if name is None:
        raise StatementFailed("42704", f'role "{text}" does not exist')
    return name


def _has_privilege(
    snapshot: CatalogSnapshot, role: str, relation: Relation, name: str, *, option: bool
) -> bool:
    if name in _OTHER:
        return False
    privilege = Privilege(name)
    authority = snapshot.visible.authority
    if role == PUBLIC:
        entries = relation.acl or ()
        return not option and any(
            entry.grantee == PUBLIC and entry.privilege == privilege for entry in entries
        )
    if option:
        return may_grant(relation_acl(authority, relation), role, privilege)
    return privilege_on(authority, role, relation, privilege).allowed


def _of_system(snapshot: CatalogSnapshot, role: str, name: str) -> bool:
    return name == "SELECT" or is_superuser(snapshot.visible.authority, role)


_TABLE = {privilege.value for privilege in Privilege} - {"USAGE", "CREATE"} | _OTHER


def _on_relation(
    snapshot: CatalogSnapshot,
    role: str,
    table: str,
    asked: str,
    path: Path,
    check: Callable[[VisibleRelation, str, bool], bool],
) -> bool | None:
    """Apply `check` to a relation of users; None for an unknown OID."""
    oid = require_registered_oid(snapshot, "regclass", table, path)
    wanted = list(_parse_privileges(asked, _TABLE))
    seen = snapshot.seen.get(oid)
    if seen is not None:
        return any(check(seen, name, option) for name, option in wanted)
    if oid not in snapshot.class_names:
        return None
    return any(_of_system(snapshot, role, name) for name, _ in wanted)


def on_table(
    snapshot: CatalogSnapshot, role: str, table: str, asked: str, path: Path
) -> bool | None:
    """Return has_table_privilege."""
    return _on_relation(
        snapshot,
        role,
        table,
        asked,
        path,
        lambda seen, name, option: _has_privilege(
            snapshot, role, seen.relation, name, option=option
        ),
    )


def on_sequence(
    snapshot: CatalogSnapshot, role: str, sequence: str, asked: str, path: Path
) -> bool | None:
    """Return has_sequence_privilege."""
    oid = require_registered_oid(snapshot, "regclass", sequence, path)
    wanted = list(_parse_privileges(asked, {"USAGE", "SELECT", "UPDATE"}))
    seen = snapshot.seen.get(oid)
    if seen is None and oid not in snapshot.class_names:
        return None
    if seen is None or seen.relation.kind != "sequence":
        raise StatementFailed("42809", "this is not a sequence")
    return any(
        _has_privilege(snapshot, role, seen.relation, name, option=option)
        for name, option in wanted
    )


def on_any_column(
    snapshot: CatalogSnapshot, role: str, table: str, asked: str, path: Path
) -> bool | None:
    """Return has_any_column_privilege."""

    def check(seen: VisibleRelation, name: str, option: bool) -> bool:
        if option or role == PUBLIC or name in _OTHER:
            return _has_privilege(snapshot, role, seen.relation, name, option=option)
        authority = snapshot.visible.authority
        return any_column_privilege(authority, role, seen.relation, Privilege(name)).allowed

    return _on_relation(snapshot, role, table, asked, path, check)


def on_column(
    snapshot: CatalogSnapshot, role: str, table: str, column: str, asked: str, path: Path
) -> bool | None:
    """Return has_column_privilege, for a column by name or number."""

    def check(seen: VisibleRelation, name: str, option: bool) -> bool:
        known = {str(seen.number(each.name)): each.name for each in seen.columns}
        found = known.get(column, column)
        if found not in known.values():
            text = f'column "{column}" of relation "{seen.relation.name}" does not exist'
            raise StatementFailed("42703", text)
        if option or role == PUBLIC or name in _OTHER:
            return _has_privilege(snapshot, role, seen.relation, name, option=option)
        authority = snapshot.visible.authority
        return privilege_on(authority, role, seen.relation, Privilege(name), found).allowed

    return _on_relation(snapshot, role, table, asked, path, check)


def on_schema(
    snapshot: CatalogSnapshot, role: str, schema: str, asked: str, path: Path
) -> bool | None:
    """Return has_schema_privilege."""
    oid = find_registered_oid(snapshot, "regnamespace", schema, path)
    if oid is None:
        raise StatementFailed("3F000", f'schema "{schema}" does not exist')
    name = snapshot.schema_names.get(oid)
    if name is None:
        return None
    wanted = [word for word, _ in _parse_privileges(asked, {"USAGE", "CREATE"})]
    authority = snapshot.visible.authority
    if name in SCHEMAS:
        return "USAGE" in wanted or is_superuser(authority, role)
    return any(schema_privilege(authority, role, name, Privilege(word)) for word in wanted)


def on_database(snapshot: CatalogSnapshot, role: str, _: str, asked: str, __: Path) -> bool:
    """Return has_database_privilege: every connected role has CONNECT."""
    wanted = {
        word for word, _ in _parse_privileges(asked, {"CONNECT", "CREATE", "TEMP", "TEMPORARY"})
    }
    return "CONNECT" in wanted or is_superuser(snapshot.visible.authority, role)


def in_role(snapshot: CatalogSnapshot, user: str, role: str, asked: str) -> bool:
    """Return pg_has_role."""
    authority = snapshot.visible.authority
    for word in asked.upper().split(","):
        match word.split():
            case ["USAGE"]:
                found = has_privs_of(authority, user, role)
            case ["SET"]:
                found = can_set(authority, user, role)
            case ["MEMBER"]:
                found = is_superuser(authority, user) or role in reach(authority, user, "any")
            case [("USAGE" | "SET" | "MEMBER"), "WITH", ("ADMIN" | "GRANT"), "OPTION"]:
                found = is_admin_of(authority, user, role)
            case _:
                raise StatementFailed("22023", "unrecognized privilege type")
        if found:
            return True
    return False
