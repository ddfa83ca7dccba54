"""Trees to the SQL of a served database, and which tables they name."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from discreet.engines.render import parenthesize_operands
from discreet.errors import StatementFailed
from discreet.sql.walk import rewrite_tree

_WRITES = (
    exp.Insert,
    exp.Update,
    exp.Delete,
    exp.Merge,
    exp.Create,
    exp.Drop,
    exp.Alter,
    exp.TruncateTable,
    exp.Command,
    exp.Copy,
    exp.Into,
)
Names = tuple[str, ...]


def statement_text(tree: exp.Expr, *, dialect: str) -> str:
    """Return `tree` as SQL: every name quoted, no comment, each function with the engine's meaning."""
    own = (_decode_bytes,) if dialect == "postgres" else ()
    try:
        return rewrite_tree(tree, *own, parenthesize_operands).sql(
            dialect=dialect,
            identify=True,
            comments=False,
            unsupported_level=ErrorLevel.RAISE,
            copy=False,
        )
    except SqlglotError:
        pass
    raise StatementFailed("0A000", "the database cannot run this statement")


def _decode_bytes(node: exp.Expr) -> exp.Expr:
    """Return bytes as PostgreSQL writes them: it has no UNHEX."""
    if not isinstance(node, exp.Unhex):
        return node
    return exp.Anonymous(this="decode", expressions=[node.this, exp.Literal.string("hex")])


def query_text(query: exp.Expr, *, dialect: str) -> str:
    """Return a query as SQL, if it only reads."""
    if any(isinstance(node, _WRITES) for node in query.walk()):
        raise StatementFailed("0A000", "a query may not write")
    return statement_text(query, dialect=dialect)


def physical_tables(tree: exp.Expr) -> set[Names]:
    """Return the tables that a tree names with a schema; others are CTEs and temporary tables."""
    return {names(table) for table in tree.find_all(exp.Table) if table.db}


def written_tables(statement: exp.Expr, touches: Sequence[Sequence[str]]) -> set[Names] | None:
    """Return the tables that a statement writes; None when it does not name them."""
    named = {fold_name_parts(each) for each in touches}
    target = _target_table(statement)
    if target is not None:
        named.add(names(target))
    return named or None


def names(table: exp.Table) -> Names:
    """Return the parts of a table's name, outermost first, as engines that ignore case compare them."""
    return fold_name_parts([part.name for part in table.parts])


def fold_name_parts(parts: Sequence[str]) -> Names:
    """Return names in one case."""
    return tuple(part.casefold() for part in parts)


def _target_table(statement: exp.Expr) -> exp.Table | None:
    found = statement.args.get("this")
    if isinstance(found, exp.Schema):
        found = found.this
    return found if isinstance(found, exp.Table) else None
