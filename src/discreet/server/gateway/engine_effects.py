"""Effects of a change of the authority on the engine: tables are created, dropped or labeled."""

from __future__ import annotations

import secrets
from dataclasses import replace

from sqlglot import exp

from discreet.engines.engine import ArrowTable
from discreet.engines.render import drop_table
from discreet.errors import StatementFailed
from discreet.guard.access.authority import TEMPORARY, Authority, Relation
from discreet.guard.integrity.create import build_create_table
from discreet.guard.levels import physical as levels
from discreet.guard.levels.change import check_labels
from discreet.server.gateway.session_state import SessionState
from discreet.sql import build

ANONYMIZED = "anonymized"  # the schema of tables behind anonymized views


def apply_effects(session: SessionState, before: Authority, after: Authority) -> Authority:
    """Apply the change from `before` to `after` to the engine; return `after` with physical names."""
    check_labels(before, after)
    _add_schemas(session, before, after)
    _drop_tables(session, before, after)
    relations = dict(after.relations)
    for key, relation in after.relations.items():
        known = before.relations.get(key)
        if relation.kind != "table":
            continue
        if known is None or known.kind != "table" or not relation.physical:
            relations[key] = _create(session, relation)
        elif relation.multilevel and not known.multilevel:
            relations[key] = _add_labels(session, known)
        elif known.multilevel and not relation.multilevel:
            raise StatementFailed(
                "0A000",
                "labels cannot be taken from a table: all users would see everything",
                hint="Create a table from the public rows: SET discreet.clearance to the "
                "lowest level, then CREATE TABLE … AS SELECT …",
            )
    return replace(after, relations=relations)


def fill_new_table(session: SessionState, relation: Relation, rows: exp.Query) -> int:
    """Insert the rows of a query into a new table."""
    target = exp.Schema(
        this=build.table(*relation.physical),
        expressions=[exp.to_identifier(column.name, quoted=True) for column in relation.columns],
    )
    insert = exp.Insert(this=target, expression=rows.copy())
    return session.transaction.write().execute(insert, touches=[relation.physical])


def drop_physical(session: SessionState, names: tuple[str, ...]) -> None:
    """Drop a physical table."""
    session.transaction.write().execute(drop_table(build.table(*names)), touches=[names])


def physical_names(session: SessionState, schema: str, name: str) -> tuple[str, ...]:
    """Return the engine's name of a relation."""
    return (*session.database.prefix, schema, name)


def create_physical_schema(session: SessionState, name: str) -> None:
    """Create a schema on the engine, if it does not exist."""
    outer = [exp.to_identifier(word, quoted=True) for word in session.database.prefix]
    place = exp.Table(db=exp.to_identifier(name, quoted=True), catalog=outer[0] if outer else None)
    tree = exp.Create(this=place, kind="SCHEMA", exists=True)
    session.transaction.write().execute(tree)


def _add_schemas(session: SessionState, before: Authority, after: Authority) -> None:
    for name in after.schemas.keys() - before.schemas.keys():
        if name.lower() == ANONYMIZED:
            raise StatementFailed("42939", f'schema name "{name}" is reserved')
        create_physical_schema(session, name)


def _drop_tables(session: SessionState, before: Authority, after: Authority) -> None:
    gone = [
        relation.physical
        for key, relation in before.relations.items()
        if key not in after.relations and relation.physical
    ]
    # Referencing tables go first.
    order = {relation.physical: relation for relation in before.relations.values()}
    gone.sort(key=lambda names: -len(order[names].foreign_keys))
    for names in gone:
        if order[names].writable and order[names].kind != ANONYMIZED:  # see shown_views
            drop_physical(session, names)


def _create(session: SessionState, relation: Relation) -> Relation:
    if not session.database.is_writable:
        raise StatementFailed("0A000", f"{session.database.name} is served for reading only")
    if relation.name.lower().startswith(levels.PREFIX):
        raise StatementFailed("42939", f'the prefix "{levels.PREFIX}" is reserved')
    made = replace(relation, physical=_free_names(session, relation))
    targets = {key: other.physical for key, other in session.authority.relations.items()}
    targets[made.key] = made.physical
    tree = build_create_table(made, session.traits, targets)
    if made.schema == TEMPORARY:
        tree.set("properties", exp.Properties(expressions=[exp.TemporaryProperty()]))
    session.transaction.write().execute(tree, touches=[made.physical])
    return made


def _free_names(session: SessionState, relation: Relation) -> tuple[str, ...]:
    """Return the engine's name of a new table; after a rename another one may still have it."""
    taken = {
        other.physical[-1].lower().removeprefix(levels.PREFIX)
        for other in session.authority.relations.values()
        if other.physical and other.schema == relation.schema and other.key != relation.key
    }
    if relation.schema == TEMPORARY:
        return new_physical_name(session, relation)
    is_taken = relation.name.lower() in taken
    return (
        new_physical_name(session, relation)
        if is_taken
        else physical_names(session, relation.schema, relation.name)
    )


def new_physical_name(session: SessionState, relation: Relation) -> tuple[str, ...]:
    """Return a name of the engine that no table has."""
    if relation.schema == TEMPORARY:
        name = f"{relation.name[:30]}__{secrets.token_hex(8)}"
        return (*session.traits.temporary_schema, name)
    name = f"{relation.name[:40]}__{secrets.token_hex(4)}"
    return physical_names(session, relation.schema, name)


def _add_labels(session: SessionState, relation: Relation) -> Relation:
    session.labels.lattice(session.authority)
    connection = session.transaction.write()
    made = levels.multilevel_relation(relation)
    for tree in levels.convert_to_multilevel(relation):
        connection.execute(tree, touches=[relation.physical, made.physical])
    return made


def create_plain(session: SessionState, relation: Relation) -> None:
    """Create a physical table without constraints."""
    tree = build_create_table(replace(relation, kind="table"), session.traits, {})
    session.transaction.write().execute(tree, touches=[relation.physical])


def text_rows_query(table: ArrowTable) -> exp.Query:
    """Return rows of texts as a query: the rows of a release, which are public anyway."""
    rows = [
        exp.Tuple(
            expressions=[exp.null() if cell is None else build.text(cell) for cell in row.values()]
        )
        for row in table.to_pylist()
    ]
    names = [exp.to_identifier(f"c{i}", quoted=True) for i in range(table.num_columns)]
    alias = exp.TableAlias(this=exp.to_identifier("rows", quoted=True), columns=names)
    if not rows:
        blank = [exp.cast(exp.null(), "text") for _ in names]
        return exp.select(*blank).where(exp.false())
    return exp.select(exp.Star()).from_(exp.Values(expressions=rows, alias=alias))
