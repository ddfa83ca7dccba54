"""Start of a server from its folder and settings; a new folder is set up on the first start."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from discreet.dp.ledger.ledger import Ledger
from discreet.engines.connect import open_database, open_table
from discreet.engines.databases.database import Database
from discreet.engines.declared_schema import correct_schema, declared_file
from discreet.errors import SourceNotFound, StatementFailed, WrongUsage
from discreet.guard.access.authority import Relation, RelationColumn
from discreet.guard.access.initial import initial_authority
from discreet.guard.control import ControlStore
from discreet.guard.identity.accounts import set_password
from discreet.guard.identity.directory import LdapDirectory
from discreet.guard.identity.oidc import OidcProvider
from discreet.guard.identity.rule_authenticator import RuleAuthenticator
from discreet.guard.identity.settings import AuthenticationSettings
from discreet.guard.journal import Event, Journal
from discreet.guard.journal.audit_policy import AuditPolicy
from discreet.guard.journal.keys import load_public_key, load_signing_key, make_signing_key
from discreet.policy import model
from discreet.policy.load import load_policy
from discreet.registry import find_engine
from discreet.server.accepted_settings import require_accepted
from discreet.server.folder import make_folder
from discreet.server.gateway.policy_tables import is_of_other_schema
from discreet.server.gateway.server import Server
from discreet.server.gateway.vault import SessionVault
from discreet.server.group_roles import GroupRoles
from discreet.server.settings import Settings
from discreet.server.store_heads import ServerStores, refuse_behind
from discreet.sql import build
from discreet.stores import timelines
from discreet.writing import require_private

PASSWORD = "DISCREET_ADMIN_PASSWORD"  # noqa: S105 (the name of a variable)


@dataclass(frozen=True)
class OpenedServer:
    """A server with its authenticator, and the tables of the policy that were just loaded.

    `is_first_start` is whether the administrator was made now, with a generated password or that of
    the environment.
    """

    server: Server
    authenticator: RuleAuthenticator
    imported: tuple[str, ...] = ()
    is_first_start: bool = False


def open_server(
    settings: Settings,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    show_password: Callable[[str], None] = lambda _: None,
) -> OpenedServer:
    """Open the stores in the server's folder; missing ones are created.

    `show_password` is called with a generated administrator's password: at once, since no one could
    log in if a later step fails.

    Raises:
        SourceNotFound: The database cannot be reached.
        UnprotectedFile: Others can read the folder, or change something in it.
        WrongUsage: Settings contradict each other or the existing data.
        StoreFailed: A store cannot be used.
        InvalidKey: The data are encrypted under another key.
    """
    make_folder(settings.data)
    timelines.TIMELINES.remember_in(settings.place(timelines.FILE))
    policy = load_policy(settings.policy) if settings.policy else None
    control = ControlStore(settings.control or settings.place("control.sqlite"))
    vault = SessionVault(control, settings.key_file, at=clock(), service=settings.key_address)
    stores = ServerStores(
        settings,
        control,
        Ledger(settings.ledger or settings.place("ledger.sqlite")),
        _open_journal(settings, clock),
    )
    _require_authentic(stores, vault)
    server = Server(
        stores,
        database=_open_database(settings, vault),
        policy=policy,
        vault=vault,
        clock=clock,
    )
    try:
        return _finish_opening(server, show_password)
    except BaseException:
        server.close()
        raise


def _require_authentic(stores: ServerStores, vault: SessionVault) -> None:
    """Refuse stores that were changed, or were reset to an earlier state.

    With a key this is proven; without one, write access to all of them can deceive it.
    """
    settings = stores.settings
    if vault.seal is not None:
        stores.journal.authenticate(vault.seal)
        stores.ledger.authenticate(vault.seal)
    key = load_public_key(settings.place("keys/journal.pub"))
    stores.journal.require_end(key=key)
    stores.ledger.verify()
    refuse_behind(stores, key=key)
    if vault.seal is not None:
        require_accepted(stores.control, settings)


def _open_database(settings: Settings, vault: SessionVault) -> Database:
    is_embedded = settings.database is None
    try:
        return open_database(
            settings.database or settings.place("data.duckdb"),
            key=vault.file_key(settings.place("data.duckdb")) if is_embedded else None,
            seals_spill=is_embedded and vault.has_keys,
            memory_limit=settings.limits.memory,
            result_bytes=settings.limits.result_bytes,
        )
    except StatementFailed:
        pass  # an error for clients, of which there are none yet
    raise SourceNotFound(
        "The database that is to be served cannot be reached. Is it running, and are host, port, user "
        "and password in its URL right?"
    )


def _finish_opening(server: Server, show_password: Callable[[str], None]) -> OpenedServer:
    """Prepare an opened server for sessions."""
    server.recover()
    is_first_start = _first_start(server, show_password)
    imported = _import_tables(server)
    authenticator = RuleAuthenticator(
        server.vault.documents,
        server.control.authority,
        journal=server.audit.record_login,
        settings=_authenticator_settings(server.settings),
        clock=server.clock,
        groups=GroupRoles(server.control, server.audit, clock=server.clock),
    )
    return OpenedServer(server, authenticator, imported, is_first_start)


def _open_journal(settings: Settings, clock: Callable[[], datetime]) -> Journal:
    private, public = settings.place("keys/journal.key"), settings.place("keys/journal.pub")
    key = load_signing_key(private) if private.exists() else make_signing_key(private, public)
    audit = settings.audit
    return Journal(
        settings.journal or settings.place("journal.sqlite"),
        signing_key=key,
        policy=AuditPolicy(default=audit.statements),
        every=audit.checkpoint_entries,
        seconds=audit.checkpoint_seconds,
        witness=[settings.data / path for path in audit.witness],
        clock=clock,
    )


def _authenticator_settings(settings: Settings) -> AuthenticationSettings:
    oidc = settings.oidc
    provider = None if oidc is None else OidcProvider(**oidc.model_dump())
    ldap = settings.ldap
    if ldap is None:
        return AuthenticationSettings(provider=provider)
    password = ""
    if ldap.reader_password_file is not None:
        require_private(ldap.reader_password_file)
        try:
            password = ldap.reader_password_file.read_text("utf-8").strip()
        except OSError:
            raise WrongUsage(
                f"{ldap.reader_password_file} cannot be read. Name a file that you may read."
            ) from None
    fields = ldap.model_dump(exclude={"reader_password_file"})
    return AuthenticationSettings(
        directory=LdapDirectory(**fields, reader_password=password), provider=provider
    )


def _first_start(server: Server, show_password: Callable[[str], None]) -> bool:
    """Create the administrator if there is no role yet; show a generated password."""
    authority = server.control.authority()
    if authority.roles:
        return False
    admin = server.settings.admin
    given = os.environ.get(PASSWORD)
    password = given or secrets.token_urlsafe(18)
    _record_setting(server, f"first start: superuser {admin} is made, with a password")
    set_password(server.vault.documents, admin, password, now=server.clock())
    server.control.change(
        authority.version,
        initial_authority(admin),
        by=admin,
        statement="first start",
        at=server.clock(),
    )
    if not given:
        show_password(password)
    return True


def _record_setting(server: Server, what: str) -> None:
    """Record in the journal how starting changes rights, before it does."""
    admin = server.settings.admin
    server.journal.record(
        Event(
            at=server.clock(), kind="setting", user=admin, role=admin, protocol="start", reason=what
        )
    )


def _import_tables(server: Server) -> tuple[str, ...]:
    """Load the tables of the policy, or register existing ones; return their names."""
    if server.policy is None:
        return ()
    authority = server.control.authority()
    known = {name for _, name in authority.relations}
    made = [
        _import_table(server, table)
        for table in server.policy.tables.values()
        if table.name.lower() not in known and not is_of_other_schema(table)
    ]
    if made:
        relations = {**authority.relations, **{relation.key: relation for relation in made}}
        _record_setting(
            server, f"tables of the policy: {', '.join(relation.name for relation in made)}"
        )
        server.control.change(
            authority.version,
            replace(authority, version=authority.version + 1, relations=relations),
            by=server.settings.admin,
            statement="tables of the policy",
            at=server.clock(),
        )
    return tuple(relation.name for relation in made)


def _import_table(server: Server, table: model.TablePolicy) -> Relation:
    database, name = server.database, table.name.lower()
    physical = (*database.prefix, "public", name)
    spec = find_engine(table.source)
    is_file = spec is None
    if is_file and database.embedded is not None:
        # An existing table was loaded completely by an earlier start that did not finish.
        if physical not in database.tables():
            _copy(server, table, physical)
    elif is_file and table.source is not None:
        raise WrongUsage(
            f"Table '{table.name}' of the policy is in a file, but the server's data are in "
            f"{database.name}. Load it there, and leave out its `source:`."
        )
    elif spec is not None and spec.physical_name is not None:
        physical = spec.physical_name(str(table.source))
    columns = tuple(
        RelationColumn(field.name, _type_name(field.type, field.precision, field.scale))
        for field in database.fields(physical)
    )
    return Relation(
        "public",
        name,
        "table",
        server.settings.admin,
        columns,
        physical=physical,
        writable=database.is_writable,
    )


def _copy(server: Server, table: model.TablePolicy, physical: tuple[str, ...]) -> None:
    folder = table_folder(server)
    source = Path(table.source or f"{table.name}.csv")
    place = source if source.is_absolute() else folder / source
    opened = open_table(place, hints=declared_file(table))
    if (
        opened.schema is not None
        and (schema := correct_schema(opened.schema, table)) != opened.schema
    ):
        opened.engine.close()
        opened = open_table(place, schema=schema)
    try:
        columns = [build.column(column.name) for column in opened.columns]
        query = build.select(*columns, source=opened.relation)
        schema = opened.engine.run(query.copy().limit(0)).schema
        batches = (batch.cast(schema) for batch in opened.engine.stream(query))
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        lowered = [name.lower() for name in schema.names]
        if len(set(lowered)) < len(lowered):
            raise WrongUsage(f"Columns of '{table.name}' differ only in case. Rename them.")
        server.database.import_table(physical, reader)  # pyright: ignore[reportAttributeAccessIssue]
    finally:
        opened.engine.close()


def table_folder(server: Server) -> Path:
    """Return the folder of the policy's files."""
    path = server.policy.path if server.policy else None
    return path.parent if path else Path()


def _type_name(name: str, precision: int | None, scale: int | None) -> str:
    if name == "numeric" and precision is not None:
        return f"numeric({precision},{scale or 0})"
    return name
