"""Whether a session may still act as it does: rights may have been revoked since login."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Authority
from discreet.guard.access.reach import can_set
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.statement import Statement

if TYPE_CHECKING:
    from discreet.serve.gateway.session import GatewaySession

# Statements that are allowed in a failed transaction.
RECOVERY_STATEMENTS = (kinds.Commit, kinds.Rollback, kinds.RollbackTo)


def require_valid_identity(
    authority: Authority,
    statement: Statement,
    session: GatewaySession,
    identities: tuple[str | None, str | None],
) -> None:
    """Refuse a user who was dropped or locked out since login, or who lost the current role.

    `identities` are those of the user and of the role when the session took their names: a later role
    of the same name is another one.
    """
    own, taken = identities
    user = authority.roles.get(session.user)
    if user is None or not user.login or user.identity != own:
        raise AccessDenied(f'role "{session.user}" is not permitted to log in', sqlstate="28000")
    if isinstance(statement, (*RECOVERY_STATEMENTS, kinds.SetRole)):
        return
    acting = authority.identity_of(session.role)
    if acting is None or acting != taken:
        raise StatementFailed(
            "22023", f'role "{session.role}" does not exist', hint="Leave it first: RESET ROLE"
        )
    if not can_set(authority, session.user, session.role):
        raise AccessDenied(
            f'permission denied to set role "{session.role}"',
            reason=f"{session.user} is not a member of {session.role} any more",
            hint="Leave it first: RESET ROLE",
        )
