"""CREATE ANONYMIZED VIEW: a release that is attacked before it is shown, and read as a view."""

from __future__ import annotations

import math
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.engines.engine import ArrowTable
from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import DEFAULT_SCHEMA, Name, RelationColumn
from discreet.guard.rewrite.authorize import authorize_query
from discreet.guard.statements.objects import CreateView
from discreet.policy import model
from discreet.registry import METHODS
from discreet.release.history import EarlierRelease
from discreet.release.options import AnonymizeOptions
from discreet.release.release import Release
from discreet.server.gateway import engine_effects, shown_views
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.shown_views import add_attributes
from discreet.server.gateway.sources import require_level, session_source
from discreet.server.session import Notice, Outcome
from discreet.sql import build

_OPTIONS = ("k", "l", "t", "quasi", "sensitive", "suppress", "method", "accept_risk")
_QUERY = "the query"


def create_anonymized_view(
    session: SessionState, statement: CreateView, note: AuditDraft
) -> Outcome:
    """Create the release of a query's rows, and a view that shows it."""
    if not session.database.is_writable:
        raise StatementFailed("0A000", f"{session.database.name} is served for reading only")
    if statement.columns:  # a release may leave out columns, which would shift the names
        raise StatementFailed(
            "0A000",
            "an anonymized view has the names of its query's columns",
            hint="Name them there: SELECT zip AS area …",
        )
    permitted = authorize_query(
        statement.query,
        session.authority,
        session.subject,
        traits=session.traits,
        source=session_source(session),
    )
    require_level(session, permitted.reads)
    base = {touched.relation for touched in permitted.reads}
    earlier = _list_earlier_views(session, base)
    names = permitted.names
    wanted = [name for view in earlier for name in _known_columns(session, view)]
    permitted = add_attributes(session, statement.query, names, wanted) or permitted
    session.require_same(permitted.reads)
    for touched in permitted.reads:
        note.add_read(touched.relation, touched.columns)
    rows = session.transaction.read().query(permitted.tree, limit=session.limits.rows)
    asked = _AnonymizedQuery(rows, names, base, anonymize_options(statement.options), earlier)
    made, table = _release(session, asked, accepted=statement.options.get("accept_risk"))
    columns = tuple(RelationColumn(name, "text") for name in table.column_names)
    applied = apply(
        session.authority,
        statement,
        session.subject,
        revoke_scope=session.settings.revoke_scope,
        columns=columns,
    )
    _store(session, statement, applied.authority, columns, table, quasi=asked.quasi(session))
    note.rows = table.num_rows
    note.reason = made.verdict
    return Outcome("CREATE VIEW", notices=(Notice("NOTICE", made.verdict),))


@dataclass(frozen=True)
class _AnonymizedQuery:
    """The rows of a query, the columns of them to publish, and what they are attacked together with.

    The other columns are attributes of the same people that earlier views publish.
    """

    rows: ArrowTable
    names: tuple[str, ...]
    base: set[Name]
    options: AnonymizeOptions
    earlier: Sequence[shown_views.ShownView]

    def policy(self, session: SessionState) -> tuple[model.Policy | None, str | None]:
        """Return the policy that decides what is published, and its table; none if nothing says."""
        policy, name = _policy_for(session, self.base, self.names)
        others = [one for one in self.rows.column_names if one not in self.names]
        if not others:
            return policy, name
        table = policy.tables[name] if policy and name else model.TablePolicy(_QUERY, ())
        unpublished = (model.ColumnPolicy(one, model.ColumnRole.IDENTIFIER) for one in others)
        table = replace(table, columns=(*table.columns, *unpublished))
        return replace(policy or model.Policy({}), tables={table.name: table}), table.name

    def quasi(self, session: SessionState) -> tuple[str, ...]:
        """Return the columns that outsiders are taken to know."""
        if self.options.quasi is not None:
            return tuple(self.options.quasi)
        policy, name = _policy_for(session, self.base, self.names)
        table = policy.tables[name] if policy and name else None
        return tuple(table.with_role(model.ColumnRole.QUASI_IDENTIFIER)) if table else ()

    def require_named(self, session: SessionState) -> None:
        """Refuse options that name no column of the query, or that leave the adversary unknown."""
        for name in (*(self.options.quasi or ()), *(self.options.sensitive or ())):
            if name not in self.names:
                raise StatementFailed("42703", f'column "{name}" is not in the query')
        if self.options.quasi is None and _policy_for(session, self.base, self.names)[0] is None:
            raise StatementFailed(
                "22023",
                "the quasi-identifiers are not known",
                hint="Name them: WITH (k = 5, quasi = 'age, sex, zip', sensitive = 'diagnosis').",
            )


def _release(
    session: SessionState, asked: _AnonymizedQuery, *, accepted: str | None
) -> tuple[Release, ArrowTable]:
    from discreet.release.anonymization import anonymize_source

    asked.require_named(session)
    policy, name = asked.policy(session)
    with tempfile.TemporaryDirectory(prefix="discreet-release-", dir=session.scratch) as place:
        output, source = Path(place) / "release.parquet", open_table(asked.rows)
        try:
            made = anonymize_source(
                replace(source, label=name or _QUERY),
                policy,
                output=output,
                options=asked.options,
                table=name,
                suppressed="drop",
                earlier=_write_earlier_views(session, asked.earlier, Path(place)),
                accept_risk=accepted,
            )
        finally:
            source.engine.close()
        opened = open_table(output)
        try:
            columns = [build.column(column.name) for column in opened.columns]
            found = opened.engine.run(build.select(*columns, source=opened.relation))
        finally:
            opened.engine.close()
    # Labels and values are in one column: both can be text.
    texts = [column.cast("string") for column in found.columns]
    return made, type(found).from_arrays(texts, names=found.column_names)


def _list_earlier_views(
    session: SessionState, base: set[Name]
) -> tuple[shown_views.ShownView, ...]:
    """Return the anonymized views of the same tables that are or were shown."""
    return (
        *shown_views.earlier_views(session, base),
        *shown_views.rolled_back_views(session, base),
    )


def _known_columns(session: SessionState, view: shown_views.ShownView) -> Sequence[str]:
    """Return what outsiders know of the people in a view: what is not recorded is all of it."""
    if view.quasi is not None:
        return view.quasi
    tables = session.policy.tables.values() if session.policy else ()
    secret = {name for table in tables for name in table.with_role(model.ColumnRole.SENSITIVE)}
    return [name for name in view.columns if name not in secret]


def _write_earlier_views(
    session: SessionState, earlier: Sequence[shown_views.ShownView], place: Path
) -> list[EarlierRelease]:
    """Write the rows of earlier views into files, and return these."""
    connection = session.transaction.read()
    found: list[EarlierRelease] = []
    for view in earlier:
        rows = connection.query(view.rows) if isinstance(view.rows, exp.Query) else view.rows
        path = str(place / f"earlier{len(found)}.parquet")
        pq.write_table(rows, path)
        found.append(EarlierRelease(path, quasi=view.quasi))
    return found


def _policy_for(
    session: SessionState, base: set[Name], names: Sequence[str]
) -> tuple[model.Policy | None, str | None]:
    """Return the policy of the one table that the rows come from, for these columns."""
    policy = session.policy
    # The policy is about tables of the default schema.
    known = [
        name
        for schema, name in base
        if schema == DEFAULT_SCHEMA and policy is not None and name in policy.tables
    ]
    if policy is None or len(base) != 1 or not known:
        return None, None
    table = policy.tables[known[0]]
    columns = tuple(column for column in table.columns if column.name in names)
    kept = {column.name for column in columns}
    criteria = tuple(
        item for item in table.criteria if getattr(item, "column", None) in (None, *kept)
    )
    unit = table.unit if table.unit in kept else None
    narrowed = replace(table, columns=columns, criteria=criteria, unit=unit, source=None)
    return replace(policy, tables={table.name: narrowed}), table.name


def anonymize_options(options: Mapping[str, str]) -> AnonymizeOptions:
    """Return the options of WITH (k = 5, …)."""
    unknown = set(options) - set(_OPTIONS)
    if unknown:
        raise StatementFailed(
            "22023",
            f'unrecognized parameter "{min(unknown)}"',
            hint=f"It is one of: {', '.join(_OPTIONS)}.",
        )
    criteria: list[model.Criterion] = []
    if "k" in options:
        k = _number_option(options, "k")
        if k != int(k):
            raise StatementFailed("22023", '"k" must be a whole number')
        criteria.append(model.KAnonymity(int(k)))
    if "l" in options:
        criteria.append(model.LDiversity("", _number_option(options, "l")))
    if "t" in options:
        criteria.append(model.TCloseness("", _number_option(options, "t")))
    method = options.get("method")
    methods = METHODS.names()
    if method is not None and method not in methods:
        raise StatementFailed(
            "22023", f'there is no method "{method}"', hint=f"It is one of: {', '.join(methods)}."
        )
    return AnonymizeOptions(
        quasi=_name_option(options, "quasi"),
        sensitive=_name_option(options, "sensitive"),
        criteria=criteria,
        method=method,
        suppress=_number_option(options, "suppress") if "suppress" in options else None,
    )


def _name_option(options: Mapping[str, str], name: str) -> list[str] | None:
    written = options.get(name)
    return None if written is None else [word.strip().lower() for word in written.split(",")]


def _number_option(options: Mapping[str, str], name: str) -> float:
    try:
        found = float(options[name])
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise StatementFailed("22023", f'"{name}" must be a number')
    return found


def _store(
    session: SessionState,
    statement: CreateView,
    after: Any,
    columns: tuple[RelationColumn, ...],
    table: ArrowTable,
    *,
    quasi: Sequence[str],
) -> None:
    """Store the release as a separate table, which the view reads."""
    schema, name = statement.relation[0] or "public", statement.relation[1]
    relation = after.relations[schema, name]
    engine_effects.create_physical_schema(session, engine_effects.ANONYMIZED)
    # A unique name: the rows of earlier releases stay where they are.
    stored_as = f"release {secrets.token_hex(8)}"
    physical = engine_effects.physical_names(session, engine_effects.ANONYMIZED, stored_as)
    stored = replace(relation, physical=physical, columns=columns, kind="anonymized")
    engine_effects.create_plain(session, stored)
    engine_effects.fill_new_table(session, stored, engine_effects.text_rows_query(table))
    known = replace(after, relations={**after.relations, stored.key: stored})
    shown_views.record_shown_view(session, known, stored, table, quasi=quasi)
    session.change_authority(known)
    session.definitions.append(statement.text)
