"""Guard: users and roles, who may do what with which table, row policies and masks."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from discreet.formatting import format_count
from discreet.guard.access.authority import PUBLIC, Authority, DatabaseRole, Relation
from discreet.server.console.access_rules import summarize_access
from discreet.server.console.pages import SameAs
from discreet.server.console.requests import ConsoleRequest

MOST_RELATIONS = 200
_SQL = """
SELECT rolname, rolsuper, rolcanlogin FROM pg_roles ORDER BY rolname;
SELECT table_name, grantee, privilege_type FROM information_schema.table_privileges;
SELECT tablename, policyname, roles, cmd, qual FROM pg_policies;
"""


@dataclass(frozen=True)
class RoleRow:
    """A role with its attributes and what it sees of each relation."""

    role: DatabaseRole
    attributes: str
    member_of: str
    cells: tuple[str, ...]


def show_guard(asked: ConsoleRequest) -> Response:
    """Return the page."""
    asked.require_superuser("see the rights of all users")
    authority = asked.server.control.authority()
    relations = sorted(authority.relations.values(), key=lambda one: one.key)[:MOST_RELATIONS]
    roles = [_describe_role(authority, role, relations) for role in authority.roles.values()]
    asked.server.audit.record_act(asked.session.client, "console: read the rights of all users")
    return asked.render(
        "guard.html.j2",
        verdict=_word_verdict(roles),
        relations=relations,
        roles=roles,
        policies=[(one, policy) for one in relations for policy in one.policies],
        masks=[(one, mask) for one in relations for mask in one.masks],
        everyone=PUBLIC,
        version_number=authority.version,
        same=SameAs(
            'psql -c "\\du" -c "\\dp"',
            "import psycopg\n\nwith psycopg.connect() as connection:\n"
            '    rights = connection.execute("SELECT * FROM information_schema.table_privileges").fetchall()',
            _SQL.strip(),
        ),
    )


def _describe_role(authority: Authority, role: DatabaseRole, relations: list[Relation]) -> RoleRow:
    words = {
        "superuser": role.superuser,
        "may create roles": role.createrole,
        "sees past row policies": role.bypassrls and not role.superuser,
        f"cleared for {role.clearance}": role.clearance is not None,
        f"until {role.valid_until}": role.valid_until not in (None, "infinity"),
    }
    member_of = sorted({edge.role for edge in authority.memberships if edge.member == role.name})
    return RoleRow(
        role,
        ", ".join(name for name, holds in words.items() if holds),
        ", ".join(member_of),
        tuple(summarize_access(authority, role.name, one) for one in relations),
    )


def _word_verdict(roles: list[RoleRow]) -> str:
    users = [row for row in roles if row.role.login]
    superusers = sum(row.role.superuser for row in users)
    verb = "sees" if superusers == 1 else "see"
    nothing = sum(not any(row.cells) for row in users)
    text = f"{format_count(len(users), 'user', 'users')}, of whom {superusers} {verb} everything"
    if nothing:
        text += f" and {nothing} nothing"
    return f"{text}."
