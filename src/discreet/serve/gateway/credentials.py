"""Passwords in CREATE, ALTER and DROP ROLE: checked before the role changes, kept once it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import StatementFailed, WrongUsage
from discreet.guard.access.names import role_name
from discreet.guard.identity import accounts, passwords, scram
from discreet.guard.statements import rights

if TYPE_CHECKING:
    from discreet.guard.statements.statement import Statement
    from discreet.serve.gateway.session import GatewaySession


def check(statement: Statement) -> None:
    """Refuse a password that could not be kept."""
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


def keep(session: GatewaySession, statement: Statement) -> None:
    """Store, move or forget credentials once the transaction is kept."""
    documents, now = session.house.vault.documents, session.house.clock()

    def later(names: tuple[str, ...], password: str) -> None:
        for written in names:
            name = role_name(session.subject, written)
            session.work.after_commit(
                lambda name=name: accounts.set_password(documents, name, password, now=now)
            )

    match statement:
        case rights.CreateRole(password=str(password)):
            later(statement.names, password)
        case rights.AlterRole(password=str(password)):
            later((statement.name,), password)
        case rights.AlterRole(no_password=True):
            name = role_name(session.subject, statement.name)
            session.work.after_commit(lambda: accounts.remove_password(documents, name))
        case rights.AlterRole(rename=str(new)):
            old = role_name(session.subject, statement.name)
            session.work.after_commit(lambda: accounts.rename_account(documents, old, new))
        case rights.DropRole():
            for name in statement.names:
                session.work.after_commit(
                    lambda name=name: accounts.remove_account(documents, name)
                )
        case _:
            pass
