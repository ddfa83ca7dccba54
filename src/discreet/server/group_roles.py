"""Roles that follow the groups of an identity provider: users become and cease to be members at login."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime

from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import Authority, Subject
from discreet.guard.access.reach import bootstrap
from discreet.guard.control import ControlStore
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.statements.rights import CreateRole, GrantRole, RevokeRole
from discreet.guard.statements.statement import Statement
from discreet.server.gateway.audit import AuditTrail

_RESERVED = ("public", "none", "current_user", "current_role", "session_user", "user")
_ATTEMPTS = 8  # while others change rights


class GroupRoles:
    """Changes rights as the first superuser would, when a user's token was verified."""

    def __init__(
        self, control: ControlStore, audit: AuditTrail, *, clock: Callable[[], datetime]
    ) -> None:
        self._control, self._audit, self._clock = control, audit, clock

    def create_user(self, user: str) -> None:
        """Create a user who logs in by tokens only: without a password and without rights.

        Raises:
            StatementFailed: the name cannot be that of a user.
        """
        if user in _RESERVED or user.startswith("pg_"):
            raise StatementFailed("42939", f'role name "{user}" is reserved')
        self._apply(lambda _: [CreateRole((user,), {"login": True}, text="CREATE ROLE")], user)

    def assign_roles(self, user: str, roles: Collection[str], *, among: Collection[str]) -> None:
        """Make a user a member of `roles`, and of no other of those in `among`.

        Raises:
            StatementFailed: a role is missing, or two of them exclude each other.
        """
        self._apply(lambda authority: _list_changes(authority, user, roles, among), user)

    def _apply(self, plan: Callable[[Authority], list[Statement]], user: str) -> None:
        for attempt in range(_ATTEMPTS):
            before = after = self._control.authority()
            statements = plan(before)
            if not statements:
                return
            admin = bootstrap(before)
            for statement in statements:
                after = apply(after, statement, Subject(admin, admin, None, {})).authority
            what = f"groups of {user}: {'; '.join(_describe_change(each) for each in statements)}"
            self._audit.record_act(ClientInfo(admin, "", protocol="oidc"), what)
            try:
                self._control.change(
                    before.version, after, by=admin, statement=what, at=self._clock()
                )
            except StatementFailed as error:
                if error.sqlstate != "40001" or attempt == _ATTEMPTS - 1:
                    raise
            else:
                return


def _list_changes(
    authority: Authority, user: str, roles: Collection[str], among: Collection[str]
) -> list[Statement]:
    edges = [edge for edge in authority.memberships if edge.member == user and edge.role in among]
    gone: list[Statement] = [
        RevokeRole((edge.role,), (user,), cascade=True, grantor=edge.grantor, text="REVOKE")
        for edge in edges
        if edge.role not in roles
    ]
    kept = {edge.role for edge in edges}
    added = sorted(set(roles) - kept)
    return [*gone, *([GrantRole(tuple(added), (user,), text="GRANT")] if added else [])]


def _describe_change(statement: Statement) -> str:
    match statement:
        case CreateRole():
            return f"CREATE ROLE {', '.join(statement.names)} LOGIN"
        case GrantRole():
            return f"GRANT {', '.join(statement.roles)}"
        case RevokeRole():
            return f"REVOKE {', '.join(statement.roles)}"
        case _:
            return statement.text
