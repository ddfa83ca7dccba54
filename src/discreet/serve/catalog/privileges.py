"""What has_table_privilege and its kin answer, of relations and columns that the role may know of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.acl import may_grant
from discreet.guard.access.authority import PUBLIC, Privilege
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
from discreet.serve.catalog.lookups import Path, look_up, require
from discreet.serve.catalog.standard import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.guard.access.authority import Relation
    from discreet.serve.catalog.snapshot import Snapshot
    from discreet.serve.catalog.visible import Seen

_OPTION = " WITH GRANT OPTION"
_OTHER = {"MAINTAIN", "RULE"}  # PostgreSQL's, which nobody has here


def _asked(text: str, known: set[str]) -> Iterator[tuple[str, bool]]:
    for word in text.upper().split(","):
        plain = " ".join(word.split())
        name = plain.removesuffix(_OPTION)
        if name not in known:
            raise StatementFailed("22023", "unrecognized privilege type")
        yield name, plain != name


def role_named(snapshot: Snapshot, text: str) -> str:
    """Return the role that a name or number means; everybody for `public`."""
    if text == "public":
        return PUBLIC
    if text.isdecimal():
        name = snapshot.role_names.get(int(text))
    else:
        name = text if text in snapshot.visible.authority.roles else None
    if name is None:
        raise StatementFailed("42704", f'role "{text}" does not exist')
    return name


def _has(snapshot: Snapshot, role: str, relation: Relation, name: str, *, option: bool) -> bool:
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


def _of_system(snapshot: Snapshot, role: str, name: str) -> bool:
    return name == "SELECT" or is_superuser(snapshot.visible.authority, role)


_TABLE = {privilege.value for privilege in Privilege} - {"USAGE", "CREATE"} | _OTHER


def _on_relation(
    snapshot: Snapshot,
    role: str,
    table: str,
    asked: str,
    path: Path,
    check: Callable[[Seen, str, bool], bool],
) -> bool | None:
    """Answer by `check` about a relation of users; None for a number that means nothing."""
    oid = require(snapshot, "regclass", table, path)
    wanted = list(_asked(asked, _TABLE))
    seen = snapshot.seen.get(oid)
    if seen is not None:
        return any(check(seen, name, option) for name, option in wanted)
    if oid not in snapshot.class_names:
        return None
    return any(_of_system(snapshot, role, name) for name, _ in wanted)


def on_table(snapshot: Snapshot, role: str, table: str, asked: str, path: Path) -> bool | None:
    """Answer has_table_privilege."""
    return _on_relation(
        snapshot,
        role,
        table,
        asked,
        path,
        lambda seen, name, option: _has(snapshot, role, seen.relation, name, option=option),
    )


def on_any_column(snapshot: Snapshot, role: str, table: str, asked: str, path: Path) -> bool | None:
    """Answer has_any_column_privilege."""

    def check(seen: Seen, name: str, option: bool) -> bool:
        if option or role == PUBLIC or name in _OTHER:
            return _has(snapshot, role, seen.relation, name, option=option)
        authority = snapshot.visible.authority
        return any_column_privilege(authority, role, seen.relation, Privilege(name)).allowed

    return _on_relation(snapshot, role, table, asked, path, check)


def on_column(
    snapshot: Snapshot, role: str, table: str, column: str, asked: str, path: Path
) -> bool | None:
    """Answer has_column_privilege, for a column by name or number."""

    def check(seen: Seen, name: str, option: bool) -> bool:
        known = {str(seen.number(each.name)): each.name for each in seen.columns}
        found = known.get(column, column)
        if found not in known.values():
            text = f'column "{column}" of relation "{seen.relation.name}" does not exist'
            raise StatementFailed("42703", text)
        if option or role == PUBLIC or name in _OTHER:
            return _has(snapshot, role, seen.relation, name, option=option)
        authority = snapshot.visible.authority
        return privilege_on(authority, role, seen.relation, Privilege(name), found).allowed

    return _on_relation(snapshot, role, table, asked, path, check)


def on_schema(snapshot: Snapshot, role: str, schema: str, asked: str, path: Path) -> bool | None:
    """Answer has_schema_privilege."""
    oid = look_up(snapshot, "regnamespace", schema, path)
    if oid is None:
        raise StatementFailed("3F000", f'schema "{schema}" does not exist')
    name = snapshot.schema_names.get(oid)
    if name is None:
        return None
    wanted = [word for word, _ in _asked(asked, {"USAGE", "CREATE"})]
    authority = snapshot.visible.authority
    if name in SCHEMAS:
        return "USAGE" in wanted or is_superuser(authority, role)
    return any(schema_privilege(authority, role, name, Privilege(word)) for word in wanted)


def on_database(snapshot: Snapshot, role: str, _: str, asked: str, __: Path) -> bool:
    """Answer has_database_privilege: everybody who is here may be here."""
    wanted = {word for word, _ in _asked(asked, {"CONNECT", "CREATE", "TEMP", "TEMPORARY"})}
    return "CONNECT" in wanted or is_superuser(snapshot.visible.authority, role)


def in_role(snapshot: Snapshot, user: str, role: str, asked: str) -> bool:
    """Answer pg_has_role."""
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
