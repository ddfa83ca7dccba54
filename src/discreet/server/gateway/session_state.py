"""The state of one session: user, role, rights, settings, transaction, services, interruption."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.engines.render import drop_referenced_table, drop_table
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import (
    TEMPORARY,
    Authority,
    DatabaseSchema,
    Name,
    Relation,
    Subject,
)
from discreet.guard.access.reach import can_set
from discreet.guard.control.versions import VersionChange
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.journal.writer import PendingEntry
from discreet.guard.rewrite.permitted import TouchedRelation
from discreet.guard.statements import statement as kinds
from discreet.guard.statements.statement import Statement
from discreet.server.gateway.ciphers import SessionCiphers
from discreet.server.gateway.context import ServerContext
from discreet.server.gateway.copied_rows import CopiedRows
from discreet.server.gateway.cursors import SessionCursor
from discreet.server.gateway.transaction import SessionTransaction
from discreet.server.gateway.variables import REPORTED, SessionVariables
from discreet.sql import build


class StatementInterrupt:
    """Interrupts the statement of one session, from other threads."""

    def __init__(self, connection: DatabaseConnection, ciphers: SessionCiphers) -> None:
        self._connection, self._ciphers = connection, ciphers
        self.is_canceled = False
        self._is_late = self._is_starved = self._is_running = False
        self._stop: Callable[[], None] | None = None

    def cancel(self) -> None:
        """Cancel the running statement."""
        self.is_canceled = True
        self._connection.interrupt()
        self._ciphers.interrupt()
        stop = self._stop
        if stop is not None:
            stop()

    def end_late(self) -> None:
        """Interrupt a statement that exceeded its time limit."""
        self._is_late = True
        self.cancel()

    def abort_for_memory(self) -> None:
        """Interrupt the running statement, if any, since there is no memory left for it."""
        if self._is_running:
            self._is_starved = True
            self.cancel()

    def require_not_canceled(self) -> None:
        """Refuse to continue a statement that was canceled."""
        if self.is_canceled:
            raise StatementFailed("57014", "canceling statement due to user request")

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Generator[None]:
        """Make `cancel` also interrupt the code inside, which uses another connection."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    @contextmanager
    def explain_interrupts(self) -> Generator[None]:
        """Run a statement inside; if it is interrupted, it fails with the reason."""
        self.is_canceled = self._is_late = self._is_starved = False
        self._is_running = True
        try:
            yield
        except StatementFailed as error:
            if self._is_starved and error.sqlstate == "57014":
                raise StatementFailed(
                    "53200", "out of memory", hint="Ask for less at once."
                ) from None
            if self._is_late and error.sqlstate == "57014":
                raise StatementFailed(
                    "57014", "canceling statement due to statement timeout"
                ) from None
            raise
        finally:
            self._is_running = False


# Statements that are allowed in a failed transaction.
RECOVERY_STATEMENTS = (kinds.Commit, kinds.Rollback, kinds.RollbackTo)


class SessionState:
    """What the stages of a statement read and change; it calls none of them."""

    def __init__(self, context: ServerContext, client: ClientInfo) -> None:
        self.client, self.id = client, secrets.token_hex(8)
        self.settings, self.limits = context.settings, context.settings.limits
        self.policy, self.clock, self.scratch = context.policy, context.clock, context.scratch
        self.database, self.control, self._pending = (
            context.database,
            context.control,
            context.pending,
        )
        self.labels, self.vault, self.plans = context.labels, context.vault, context.plans
        self.private_answers = context.private_answers
        self.variables = SessionVariables(defaults=context.defaults)
        self.temporary: dict[Name, Relation] = {}
        self._merged: tuple[Authority, Mapping[Name, Relation], Authority] | None = None
        self.transaction = SessionTransaction(
            self.database.connect(),
            self.control.authority,
            self._commit_authority,
            self._save_settings,
        )
        self.transaction.deferred.authority = lambda: self.authority
        self._identity = client.identity or self.authority.identity_of(client.user)
        self._user = client.user
        self._after_transaction: tuple[str, str, str | None] | None = None
        self.set_role(client.user)
        self.cursors: dict[str, SessionCursor] = {}
        self.statements: dict[str, kinds.Prepare] = {}
        self.keys = self.vault.unlocked()
        self.ciphers = self.vault.ciphers(self.keys)
        self.interrupt = StatementInterrupt(self.transaction.connection, self.ciphers)
        self.definitions: list[str] = []  # of this transaction, without passwords
        self.numbers: dict[str, int] = {}  # the last ones that this session took of sequences
        self.last_sequence: Name | None = None
        self.incoming: CopiedRows | None = None  # of the COPY that is being run
        self.unsettled: list[
            PendingEntry
        ] = []  # entries of the journal that may not be durable yet
        self._subject: Subject | None = None
        self._reported: tuple[tuple[object, ...], Mapping[str, str]] = ((), {})

    @property
    def login(self) -> str:
        """The logged-in user: whose clearance this is, and whom the journal names."""
        return self.client.user

    @property
    def user(self) -> str:
        """The session user: the logged-in one, unless SET SESSION AUTHORIZATION chose another."""
        return self._user

    @property
    def traits(self) -> EngineTraits:
        """How the database departs from PostgreSQL."""
        return self.database.traits

    @property
    def reported(self) -> Mapping[str, str]:
        """Settings that are reported to clients: the same object until one of them changes."""
        basis = self.variables.all(), self.authority, self.role, self.user
        known, found = self._reported
        if not all(one is other for one, other in zip(known, basis, strict=False)) or not found:
            values = {name: self.variables.get(name) for name in REPORTED}
            is_superuser = "on" if self._is_superuser(self.role) else "off"
            who = {"is_superuser": is_superuser, "session_authorization": self.user}
            self._reported = basis, (found := {**values, **who})
        return found

    @property
    def statement_seconds(self) -> float:
        """The time limit of a statement."""
        most = self.limits.statement_seconds
        return min(self.variables.timeout or most, most)

    @property
    def authority(self) -> Authority:
        """The rights as this session currently sees them, with its temporary tables."""
        shared = self.transaction.authority
        if not self.temporary:
            return shared
        known = self._merged
        if known is None or known[0] is not shared or known[1] is not self.temporary:
            schema = DatabaseSchema(TEMPORARY, self._user)
            merged = replace(
                shared,
                schemas={**shared.schemas, TEMPORARY: schema},
                relations={**shared.relations, **self.temporary},
            )
            known = self._merged = (shared, self.temporary, merged)
        return known[2]

    def authority_for(self, relation: Relation) -> Authority:
        """The rights by which rules of a relation name others: never a temporary table of the session."""
        return self.authority if relation.schema == TEMPORARY else self.transaction.authority

    def change_authority(self, after: Authority) -> None:
        """Make an authority the transaction's own; its temporary tables are the session's alone."""
        shared = self.transaction.authority
        own = {key: one for key, one in after.relations.items() if key[0] == TEMPORARY}
        if own != self.temporary:
            self.temporary = own
        rest = after
        if own or TEMPORARY in after.schemas:
            rest = replace(
                after,
                relations={k: one for k, one in after.relations.items() if k[0] != TEMPORARY},
                schemas={k: one for k, one in after.schemas.items() if k != TEMPORARY},
            )
        if replace(rest, version=shared.version) != shared:
            self.transaction.change(rest)

    def drop_temporary(self, names: Iterable[Name] | None = None) -> None:
        """Drop temporary tables of this session, or all of them."""
        for key in list(self.temporary if names is None else names):
            relation = self.temporary.get(key)
            if relation is not None and relation.physical:
                drop = drop_referenced_table if self.traits.enforces_foreign_keys else drop_table
                tree = drop(build.table(*relation.physical))
                self.transaction.write().execute(tree, touches=[relation.physical])
            self.temporary = {k: one for k, one in self.temporary.items() if k != key}

    @property
    def clearance(self) -> str | None:
        """The clearance of this session: at most that of the logged-in user."""
        role = self.authority.roles.get(self.login)
        own = role.clearance if role is not None else None
        wanted = self.variables.get("discreet.clearance")
        # Checked each time: the user's own clearance may have been lowered.
        if own is None or not wanted or not self.labels.is_cleared(self.authority, own, wanted):
            return own
        return wanted

    @property
    def subject(self) -> Subject:
        """The sender of statements as decisions see it; one statement has one time."""
        if self._subject is None:
            now = self.clock().replace(tzinfo=None).isoformat(sep=" ")
            settings = {**self.variables.all(), "discreet.now": now}
            self._subject = Subject(self.user, self.role, self.clearance, settings)
        return self._subject

    def set_role(self, role: str, *, local: bool = False) -> None:
        """Act as a role from now on: bound to its identity, not only its name."""
        self._keep_authorization(local=local)
        self.role, self._acting = role, self.authority.identity_of(role)

    def set_authorization(self, user: str | None, *, local: bool = False) -> None:
        """Make another role the session user, as which it acts; None is the logged-in user.

        Raises:
            AccessDenied: the logged-in user is no superuser.
        """
        wanted = user or self.login
        if wanted not in self.authority.roles:
            raise StatementFailed("22023", f'role "{wanted}" does not exist')
        if wanted != self.login and not self._is_superuser(self.login):
            raise AccessDenied(f'permission denied to set session authorization "{wanted}"')
        self._keep_authorization(local=local)
        self._user = wanted
        self.role, self._acting = wanted, self.authority.identity_of(wanted)

    def _keep_authorization(self, *, local: bool) -> None:
        """Note what SET LOCAL changes, so that the end of the transaction restores it."""
        if not local:
            self._after_transaction = None
        elif self._after_transaction is None:
            self._after_transaction = (self._user, self.role, self._acting)

    def _is_superuser(self, name: str) -> bool:
        role = self.authority.roles.get(name)
        return role is not None and role.superuser

    def refresh(self) -> None:
        """Renew rights, role and settings."""
        self._subject = None
        self.transaction.refresh()

    def require_runnable(self, statement: Statement) -> None:
        """Refuse users dropped or locked out since login, and statements after a failure."""
        self._require_valid_identity(statement)
        if not isinstance(statement, RECOVERY_STATEMENTS):
            self.transaction.require_usable()

    def require_same(self, reads: Iterable[TouchedRelation], *others: Name) -> None:
        """Refuse relations on which a right was granted since the transaction began."""
        touched = list(reads)
        names = [*(one.relation for one in touched), *others]
        self.transaction.require_same(names, {self.user, *(one.as_role for one in touched)})

    def end_transaction(self) -> None:
        """Reset the settings that last for one transaction only."""
        self.variables.end_transaction()
        if self._after_transaction is not None:
            self._user, self.role, self._acting = self._after_transaction
            self._after_transaction = None
        self.definitions = []
        self._subject = None
        self.cursors = {name: cursor for name, cursor in self.cursors.items() if cursor.hold}

    def close(self) -> None:
        """Roll back an open transaction, and release connection and keys."""
        try:
            self.transaction.close()
        finally:
            self.ciphers.close()
            self.keys.close()

    def _require_valid_identity(self, statement: Statement) -> None:
        """Refuse a user who was dropped or locked out since login, or who lost the current role.

        A later role of the same name is another one: it has another identity.
        """
        authority = self.authority
        user = authority.roles.get(self.login)
        if user is None or not user.login or user.identity != self._identity:
            raise AccessDenied(f'role "{self.login}" is not permitted to log in', sqlstate="28000")
        if isinstance(statement, (*RECOVERY_STATEMENTS, kinds.SetRole, kinds.SetAuthorization)):
            return
        if self._user != self.login and not user.superuser:
            raise AccessDenied(
                f'permission denied to set session authorization "{self._user}"',
                reason=f"{self.login} is no superuser any more",
                hint="Leave it first: RESET SESSION AUTHORIZATION",
            )
        acting = authority.identity_of(self.role)
        if acting is None or acting != self._acting:
            raise StatementFailed(
                "22023", f'role "{self.role}" does not exist', hint="Leave it first: RESET ROLE"
            )
        if not can_set(authority, self.user, self.role):
            raise AccessDenied(
                f'permission denied to set role "{self.role}"',
                reason=f"{self.user} is not a member of {self.role} any more",
                hint="Leave it first: RESET ROLE",
            )

    def _save_settings(self) -> Callable[[], None]:
        """Return a function that restores the current role and settings, for a rollback."""
        user, role, acting = self._user, self.role, self._acting
        settings, temporary = self.variables.remembered(), self.temporary

        def restore() -> None:
            self.temporary = temporary
            self._user, self.role, self._acting, self._subject = user, role, acting, None
            self.variables.restore(settings)

        return restore

    def _commit_authority(
        self, base: int, authority: Authority, written: DatabaseConnection | None
    ) -> AbstractContextManager[object]:
        """Return a context that locks the authority while the engine commits, and then stores it."""
        statement, self.definitions = "; ".join(self.definitions), []
        change = VersionChange(base, authority, self.login, statement, self.clock())
        if written is not None:
            self._pending.note(written, change)
        return self.control.changing(
            base, authority, by=change.by, statement=statement, at=change.at, token=change.token
        )
