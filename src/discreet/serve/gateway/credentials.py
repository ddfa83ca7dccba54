"""Passwords in CREATE, ALTER and DROP ROLE: checked before the role changes, stored after."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from discreet.errors import StatementFailed, WrongUsage
from discreet.guard.access.authority import Authority
from discreet.guard.access.names import role_name
from discreet.guard.identity import accounts, passwords, scram
from discreet.guard.statements import rights
from discreet.guard.statements.statement import Statement
from discreet.serve.gateway.session_state import SessionState


def check_password(statement: Statement) -> None:
    """Refuse a password that could not be stored."""
    if not isinstance(statement, (rights.CreateRole, rights.AlterRole)):
        return
    password = statement.password
    if password is None or scram.read_verifier(password) is not None:
        return
    name = statement.name if isinstance(statement, rights.AlterRole) else statement.names[0]
    try:
        passwords.require_acceptable(password, user=name)
    except WrongUsage as error:
        raise StatementFailed("22023", str(error)) from None


def schedule_credentials(session: SessionState, statement: Statement, before: Authority) -> None:
    """Store or delete credentials once the transaction is committed.

    They are stored under the role's identity, so a crash in between leaves them to no other role.
    """
    documents, now = session.vault.documents, session.clock()

    def later(act: Callable[[str], None], authority: Authority, names: tuple[str, ...]) -> None:
        for written in names:
            holder = authority.identity_of(role_name(session.subject, written))
            if holder is not None:
                session.transaction.after_commit(partial(act, holder))

    def set_password(password: str) -> Callable[[str], None]:
        return lambda holder: accounts.set_password(documents, holder, password, now=now)

    match statement:
        case rights.CreateRole(password=str(password)):
            later(set_password(password), session.authority, statement.names)
        case rights.AlterRole(password=str(password)):
            later(set_password(password), session.authority, (statement.name,))
        case rights.AlterRole(no_password=True):
            forget = partial(accounts.remove_password, documents)
            later(forget, session.authority, (statement.name,))
        case rights.DropRole():
            later(partial(accounts.remove_account, documents), before, statement.names)
        case _:
            pass
