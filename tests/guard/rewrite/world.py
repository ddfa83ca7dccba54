"""One small world in three places: PostgreSQL with its own rights, and discreet before DuckDB and PostgreSQL."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import duckdb
from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.engines.render import statement_text
from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import Authority, RelationColumn, Subject
from discreet.guard.access.initial import initial_authority
from discreet.guard.rewrite import (
    authorize_query,
    authorize_write,
    bind_query,
    bind_write,
    confirm_query,
)
from discreet.guard.statements.parse import parse_statements
from discreet.guard.statements.statement import Query, Write
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.guard.rewrite import PermittedQuery, PermittedWrite

ADMIN = "admin"
ROLES = ("owner", "ann", "bob", "carl", "eve", "staff")
# `owner: statement`, understood by PostgreSQL and by discreet alike.
TABLES = (
    "CREATE TABLE emp (id integer PRIMARY KEY, name text, sal numeric(10,2), dept text, hired date)",
    "CREATE TABLE dep (dept text PRIMARY KEY, boss integer, budget integer)",
    "CREATE TABLE note (id integer PRIMARY KEY, author text, body text, mark integer)",
)
GRANTS = (
    "GRANT staff TO carl",
    "GRANT SELECT ON emp, dep TO ann",
    "GRANT SELECT (name, dept) ON emp TO bob",
    "GRANT SELECT (dept) ON dep TO bob",
    "GRANT SELECT (id, name), INSERT (id, name), UPDATE (name) ON emp TO carl",
    "GRANT DELETE ON dep TO carl",
    "GRANT INSERT, UPDATE ON dep TO staff",
    "GRANT SELECT (dept) ON dep TO staff",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON note TO ann, bob",
    "GRANT SELECT ON rich, chain TO bob",
    "GRANT SELECT (name) ON rich TO carl",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON plain, plain2, rich TO carl",
    "GRANT SELECT, UPDATE (who), DELETE ON plain TO ann",
    "GRANT ALL ON counted TO ann",
    "GRANT SELECT, INSERT, UPDATE ON open TO ann",
    "GRANT INSERT, UPDATE ON open TO carl",
    "ALTER TABLE note ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY own ON note USING (author = current_user)",
    "CREATE POLICY shared ON note FOR SELECT USING (mark = 0)",
    "CREATE POLICY low ON note AS RESTRICTIVE USING (mark < 9)",
)
VIEWS = (
    ("rich", "SELECT name, sal FROM emp WHERE sal > 100", "name text, sal numeric(10,2)"),
    ("chain", "SELECT name FROM rich", "name text"),
    (
        "plain",
        "SELECT id AS nr, name AS who, dept AS place, name || name AS twice FROM emp WHERE id < 5",
        "nr integer, who text, place text, twice text",
    ),
    (
        "plain2",
        "SELECT nr, who, twice FROM plain WHERE who <> 'Dee'",
        "nr integer, who text, twice text",
    ),
    (
        "open",
        "SELECT id AS nr, name AS who, id AS nr2 FROM emp",
        "nr integer, who text, nr2 integer",
    ),
    ("counted", "SELECT count(*) AS n FROM emp", "n bigint"),
)
ROWS = {
    "emp": [
        (1, "Ann", "120.50", "it", "2020-01-15"),
        (2, "Bob", "80.00", "it", "2021-03-01"),
        (3, "Cid", "300.00", "hr", "2019-07-30"),
        (4, "Dee", None, "hr", None),
        (5, "12", "95.25", None, "2022-12-31"),
    ],
    "dep": [("it", 1, 1000), ("hr", 3, 500), ("ops", None, 0)],
    "note": [
        (1, "ann", "hello", 1),
        (2, "bob", "77", 2),
        (3, "ann", "shared", 0),
        (4, "bob", "secret", 9),
        (5, "eve", "shut", 5),
    ],
}


def authority() -> Authority:
    """Return the rights of the world, as discreet's own statements make them."""
    found = initial_authority(ADMIN)
    script = [(ADMIN, f"CREATE ROLE {role}") for role in ROLES]
    script += [(ADMIN, "GRANT CREATE ON SCHEMA public TO owner")]
    script += [("owner", text) for text in TABLES]
    for who, text in script:
        found = _applied(found, who, text)
    for name, query, columns in VIEWS:
        made = tuple(RelationColumn(*column.split(" ", 1)) for column in columns.split(", "))
        found = _applied(found, "owner", f"CREATE VIEW {name} AS {query}", made)
    for text in GRANTS:
        found = _applied(found, ADMIN if "staff TO" in text else "owner", text)
    relations = {
        key: replace(relation, physical=("public", relation.name))
        if relation.kind == "table"
        else relation
        for key, relation in found.relations.items()
    }
    return replace(found, relations=relations)


def _applied(
    found: Authority, who: str, text: str, columns: tuple[RelationColumn, ...] = ()
) -> Authority:
    (statement,) = parse_statements(text)
    applied = apply(found, statement, Subject(who, who), revoke_scope="grantor", columns=columns)
    return applied.authority


@dataclass(frozen=True)
class Answer:
    """What came back: a SQLSTATE, and rows in no order."""

    sqlstate: str
    rows: tuple[tuple[Any, ...], ...] = ()

    @property
    def is_fine(self) -> bool:
        return self.sqlstate == "00000"


def answer(rows: Sequence[Sequence[Any]]) -> Answer:
    return Answer("00000", tuple(sorted((tuple(map(_plain, row)) for row in rows), key=repr)))


def _plain(value: Any) -> Any:
    """Return a value in a form that is the same whatever made it."""
    if value is None or isinstance(value, bool):
        return value
    with contextlib.suppress(TypeError, ValueError):
        if not isinstance(value, str):
            return round(float(value), 6)
    return str(value)


class Guarded:
    """discreet before an engine; writes are put together in the plainest way."""

    def __init__(self, dialect: str, rights: Authority | None = None) -> None:
        self.dialect = dialect
        self.traits = EngineTraits() if dialect == "postgres" else ServedDuckDB.traits
        self.authority = rights or authority()

    def ask(
        self,
        who: str,
        text: str,
        values: Sequence[object] = (),
        settings: dict[str, str] | None = None,
    ) -> Answer:
        try:
            (statement,) = parse_statements(text)
            subject = Subject(who, who, None, settings or {})
            if isinstance(statement, Query):
                permitted = authorize_query(
                    statement.tree, self.authority, subject, traits=self.traits
                )
                return answer(self.run(self.text(permitted, values)))
            assert isinstance(statement, Write), text
            write = authorize_write(statement.tree, self.authority, subject, traits=self.traits)
            return self.write(bind_write(write, values, traits=self.traits))
        except StatementFailed as failed:
            return Answer(failed.sqlstate)

    def text(self, permitted: PermittedQuery, values: Sequence[object] = ()) -> str:
        tree = bind_query(permitted.tree, permitted.parameters, values, traits=self.traits)
        confirm_query(tree, permitted.physical, dialect=self.dialect)
        return statement_text(tree, dialect=self.dialect)

    def write(self, permitted: PermittedWrite) -> Answer:
        """Write, and undo it; rows that policies do not let in are looked for before."""
        refused = rows_refused(permitted)
        if refused is not None and self.run(statement_text(refused, dialect=self.dialect)) != [
            (0,)
        ]:
            raise StatementFailed("42501", "new row violates row-level security policy")
        tree = statement_of(permitted)
        rows = self.run(statement_text(tree, dialect=self.dialect), undo=True)
        return answer(rows) if permitted.returning is not None else Answer("00000")

    def run(self, sql: str, *, undo: bool = False) -> list[tuple[Any, ...]]:
        raise NotImplementedError


def statement_of(permitted: PermittedWrite) -> exp.Expr:
    """Return a statement made of the parts; WITH CHECK is not part of it."""
    where = exp.Where(this=permitted.condition) if permitted.condition is not None else None
    returning = (
        exp.Returning(expressions=list(permitted.returning)) if permitted.returning else None
    )
    sets = [
        exp.EQ(this=exp.column(exp.to_identifier(name, quoted=True)), expression=value)
        for name, value in permitted.assignments.items()
    ]
    if permitted.sources is not None:
        return joined_write(permitted, sets, where, returning)
    if permitted.kind == "UPDATE":
        return exp.Update(this=permitted.target, expressions=sets, where=where, returning=returning)
    if permitted.kind == "DELETE":
        return exp.Delete(this=permitted.target, where=where, returning=returning)
    columns = [exp.to_identifier(name, quoted=True) for name in permitted.columns]
    into = exp.Schema(this=permitted.target, expressions=columns) if columns else permitted.target
    conflict = None
    if permitted.on_conflict is not None:
        found = permitted.on_conflict
        keys = [exp.column(exp.to_identifier(name, quoted=True)) for name in found.columns]
        updates = [
            exp.EQ(this=exp.column(exp.to_identifier(name, quoted=True)), expression=value)
            for name, value in (found.assignments or {}).items()
        ]
        conflict = exp.OnConflict(
            conflict_keys=keys or None,
            action=exp.Var(this="DO UPDATE" if updates else "DO NOTHING"),
            expressions=updates,
            where=exp.Where(this=found.condition) if found.condition is not None else None,
        )
    return exp.Insert(
        this=into,
        expression=permitted.rows,
        default=permitted.rows is None,
        conflict=conflict,
        returning=returning,
    )


def joined_write(
    permitted: PermittedWrite, sets: list[exp.Expr], where: exp.Where | None, returning: object
) -> exp.Expr:
    """Return an UPDATE … FROM or DELETE … USING of the parts."""
    assert permitted.sources is not None
    sources = permitted.sources.copy()
    start = sources.args.get("from_")
    item = start.this if start is not None else build.subquery(exp.select("1"), "nothing")
    item.set("joins", sources.args.get("joins"))
    common = sources.args.get("with_")
    if permitted.kind == "UPDATE":
        return exp.Update(
            this=permitted.target,
            expressions=sets,
            from_=exp.From(this=item),
            where=where,
            returning=returning,
            with_=common,
        )
    return exp.Delete(
        this=permitted.target, using=[item], where=where, returning=returning, with_=common
    )


def rows_refused(permitted: PermittedWrite) -> exp.Expr | None:
    """Return a query that counts new rows that WITH CHECK does not let in."""
    if permitted.with_check is None or permitted.kind == "DELETE":
        return None
    if permitted.kind == "INSERT":
        given, source = set(permitted.columns), "rows"
        query = permitted.rows or exp.select("1")
        start: exp.Expr = build.subquery(query.copy(), source)
        cells = {
            column.name: build.column(column.name, of=source)
            if column.name in given
            else exp.cast(exp.Null(), column.type)
            for column in permitted.relation.columns
        }
    else:
        start = permitted.target.copy()
        if permitted.sources is not None:
            return None
        cells = {
            column.name: permitted.assignments.get(
                column.name, build.column(column.name, of=permitted.target.alias)
            )
            for column in permitted.relation.columns
        }
    new = exp.select(*(build.alias_as(value.copy(), name) for name, value in cells.items())).from_(
        start
    )
    if permitted.condition is not None:
        new = new.where(permitted.condition.copy())
    allowed = exp.Is(this=exp.Paren(this=permitted.with_check.copy()), expression=exp.true())
    return build.select(build.count_star(), source=build.subquery(new, "new")).where(
        exp.not_(allowed)
    )


class OnDuckDB(Guarded):
    """discreet before DuckDB; an engine's failure is reported by its class."""

    def __init__(self, rights: Authority | None = None) -> None:
        super().__init__("duckdb", rights)
        self.connection = duckdb.connect(config={"threads": 1})
        self.connection.execute("CREATE SCHEMA public")
        for text in TABLES:
            self.connection.execute(text.replace("CREATE TABLE ", "CREATE TABLE public."))
        for name, rows in ROWS.items():
            marks = ", ".join("?" * len(rows[0]))
            self.connection.executemany(f"INSERT INTO public.{name} VALUES ({marks})", rows)

    def run(self, sql: str, *, undo: bool = False) -> list[tuple[Any, ...]]:
        self.connection.execute("BEGIN")
        try:
            return self.connection.execute(sql).fetchall()
        except duckdb.ConstraintException:
            raise StatementFailed("23505", "constraint") from None
        except (duckdb.ConversionException, duckdb.OutOfRangeException):
            raise StatementFailed("22000", "data") from None
        finally:
            self.connection.execute("ROLLBACK" if undo else "COMMIT")


class OnPostgres(Guarded):
    """discreet before PostgreSQL, as a superuser there."""

    def __init__(self, connection: Any, rights: Authority | None = None) -> None:
        super().__init__("postgres", rights)
        self.connection = connection

    def run(self, sql: str, *, undo: bool = False) -> list[tuple[Any, ...]]:
        found = send(self.connection, ADMIN_ROLE, sql)
        if not found.is_fine:
            raise StatementFailed(found.sqlstate, "engine")
        return list(found.rows)


ADMIN_ROLE = "postgres"


def send(connection: Any, who: str, sql: str) -> Answer:
    """Let PostgreSQL answer as a role, and undo it."""
    import psycopg

    cursor = connection.cursor()
    try:
        cursor.execute(f"SET ROLE {who}")
        cursor.execute(sql)
        return answer(cursor.fetchall()) if cursor.description else Answer("00000")
    except psycopg.Error as error:
        return Answer(error.sqlstate or "?????")
    finally:
        connection.rollback()


def fill_postgres(connection: Any) -> None:
    """Make the world in a PostgreSQL database."""
    cursor = connection.cursor()
    for role in ROLES:
        cursor.execute(f"CREATE ROLE {role}")
    cursor.execute("GRANT CREATE ON SCHEMA public TO owner")
    cursor.execute("SET ROLE owner")
    for text in TABLES:
        cursor.execute(text)
    for name, query, _ in VIEWS:
        cursor.execute(f"CREATE VIEW {name} AS {query}")
    for name, rows in ROWS.items():
        marks = ", ".join(["%s"] * len(rows[0]))
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    cursor.execute("RESET ROLE")
    for text in GRANTS:
        cursor.execute(text)
    connection.commit()
