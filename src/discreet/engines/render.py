"""Trees to SQL that means the same on every engine.

sqlglot translates syntax; this module handles differences of meaning: brackets, the order of text,
integer division, and casts that must give NULL instead of an error that quotes a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import ErrorLevel, exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.errors import StatementFailed
from discreet.sql import build
from discreet.sql.search import is_place_in_list, match_cases
from discreet.sql.walk import rewrite_tree

# Where a text literal is the value of a column, so that its collation determines an order.
_VALUE_PLACES = (exp.Alias, exp.Case, exp.Coalesce, exp.If, exp.Max, exp.Min, exp.Ordered)
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
_TESTS = (exp.Predicate, exp.Connector, exp.Not)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
# Meta of a TRY_CAST that can fail on DuckDB only, as its integers may have more than 64 bits.
TOTAL = "total on engines of 64 bits"
# Meta of a FLOOR or CEIL of doubles that may be larger than any whole number of 64 bits.
WIDE = "may exceed 64 bits"
_HALF = "0.49999999999999994"  # the double below one half: 0.5 would round itself up to 1
_WHOLE = r"^\s*[+-]?[0-9]{1,18}\s*$"
_REAL = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?\s*$"
_PATTERNS = {
    **dict.fromkeys((exp.DataType.Type.BIGINT, exp.DataType.Type.INT), _WHOLE),
    **dict.fromkeys((exp.DataType.Type.DOUBLE, exp.DataType.Type.FLOAT), _REAL),
}


def render_sql(tree: exp.Expr, *, dialect: str) -> str:
    """Return `tree` as SQL of `dialect`; the tree itself is not changed."""
    own = (_REWRITES[dialect],) if dialect in _REWRITES else ()
    return rewrite_tree(tree, _parenthesize_operands, *own).sql(dialect=dialect, copy=False)


def statement_text(tree: exp.Expr, *, dialect: str) -> str:
    """Return `tree` as SQL: every name quoted, no comment, each function with the engine's meaning."""
    own = (_decode_bytes,) if dialect == "postgres" else ()
    try:
        return rewrite_tree(tree, *own, _parenthesize_operands).sql(
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


def _parenthesize_operands(node: exp.Expr) -> exp.Expr:
    """Add brackets so that the tree, not operator precedence, decides the grouping."""
    inner_or = isinstance(node, exp.Or) and isinstance(node.parent, (exp.And, exp.Not))
    inner_sum = isinstance(node, _ARITHMETIC) and isinstance(node.parent, _ARITHMETIC)
    # Engines disagree on whether IS or a comparison comes first.
    inner_test = isinstance(node, _TESTS) and isinstance(node.parent, exp.Is)
    return exp.Paren(this=node.copy()) if inner_or or inner_sum or inner_test else node


def number_columns(query: exp.Query, count: int) -> tuple[exp.Subquery, list[exp.Column]]:
    """Return a query called q with columns called by their position, since its own may share names."""
    names = [f"c{place}" for place in range(count)]
    alias = exp.TableAlias(
        this=exp.to_identifier("q"), columns=[exp.to_identifier(name) for name in names]
    )
    inner = exp.Subquery(this=query.copy(), alias=alias)
    return inner, [build.column(name, of="q") for name in names]


def drop_table(relation: exp.Table) -> exp.Expr:
    """Return `DROP TABLE IF EXISTS relation`."""
    return _bind_relation(relation, "DROP TABLE IF EXISTS x")


def drop_referenced_table(relation: exp.Table) -> exp.Expr:
    """Return `DROP TABLE relation CASCADE`: foreign keys that reference it are dropped, too."""
    return _bind_relation(relation, "DROP TABLE x CASCADE")


def rename_column(relation: exp.Table, old: str, new: str) -> exp.Expr:
    """Return `ALTER TABLE relation RENAME COLUMN old TO new`."""
    tree = _bind_relation(relation, "ALTER TABLE x RENAME COLUMN y TO z")
    for column in list(tree.find_all(exp.Column)):
        column.replace(build.column(old if column.name == "y" else new))
    return tree


def add_foreign_key(relation: exp.Table, key: exp.Expr) -> exp.Expr:
    """Return `ALTER TABLE relation ADD FOREIGN KEY …`."""
    tree = _bind_relation(relation, "ALTER TABLE x ADD FOREIGN KEY (a) REFERENCES b (c)")
    for found in list(tree.find_all(exp.ForeignKey)):
        found.replace(key.copy())
    return tree


def drop_view(relation: exp.Table) -> exp.Expr:
    """Return `DROP VIEW IF EXISTS relation`."""
    return _bind_relation(relation, "DROP VIEW IF EXISTS x")


def rename_table(relation: exp.Table, name: exp.Table) -> exp.Expr:
    """Return `ALTER TABLE relation RENAME TO name`."""
    tree = parse_one("ALTER TABLE x RENAME TO y", dialect="postgres")
    for found in list(tree.find_all(exp.Table)):
        found.replace((relation if found.name == "x" else name).copy())
    return tree


def analyze_table(relation: exp.Table) -> exp.Expr:
    """Return `ANALYZE relation`: PostgreSQL does not analyze temporary tables itself."""
    return _bind_relation(relation, "ANALYZE x")


def _bind_relation(relation: exp.Table, pattern: str) -> exp.Expr:
    # Parsed, not built: sqlglot moved the argument that holds the table between its versions.
    tree = parse_one(pattern, dialect="postgres")
    for name in list(tree.find_all(exp.Table)):
        if name.name == "x":
            name.replace(relation.copy())
    return tree


def byte_order(expression: exp.Expr) -> exp.Collate:
    """Return a text compared by its bytes, whatever the collation of its column or database."""
    return exp.Collate(this=expression, expression=exp.to_identifier("C", quoted=True))


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    if not is_place_in_list(node):
        return node
    # A cast to an enumeration looks texts up by their hash, tens of times quicker than comparisons.
    value, *texts = node.expressions
    listed = exp.DataType(this=exp.DataType.Type.ENUM, expressions=texts)
    found = exp.TryCast(this=value, to=listed, safe=True)
    return exp.cast(exp.Anonymous(this="ENUM_CODE", expressions=[found]), exp.DataType.Type.INT)


def _search_list(node: exp.Expr) -> exp.Expr:
    """Return the place of a text in a list, found by comparing bytes."""
    value, *listed = node.expressions
    texts = [one.name for one in listed]
    order = sorted(range(len(texts)), key=lambda place: texts[place].encode())
    return match_cases(value, [build.text(texts[place]) for place in order], order, exp.Null())


def _for_postgres(node: exp.Expr) -> exp.Expr:
    if is_place_in_list(node):
        return _search_list(node)
    if isinstance(node, exp.IntDiv):
        # DIV() would turn whole numbers into numerics.
        return exp.Div(this=node.this.copy(), expression=node.expression.copy(), typed=True)
    if isinstance(node, exp.TryCast):
        return _guarded_cast(node)
    if isinstance(node, exp.Round) and not node.args.get("decimals"):
        return _half_away_from_zero(node)
    if type(node) in (exp.Lower, exp.Upper):
        return _changed_case(node)
    if isinstance(node.parent, exp.Collate):
        return node
    is_text_cast = type(node) is exp.Cast and node.is_type(*exp.DataType.TEXT_TYPES)
    is_text_value = (
        isinstance(node, exp.Literal) and node.is_string and isinstance(node.parent, _VALUE_PLACES)
    )
    return byte_order(node.copy()) if is_text_cast or is_text_value else node


def _guarded_cast(node: exp.TryCast) -> exp.Expr:
    """Return a cast that gives NULL where the text is not of its type; PostgreSQL has no TRY_CAST."""
    if node.meta.get(TOTAL):
        return exp.Cast(this=node.this.copy(), to=node.to.copy())
    text = exp.cast(node.this.copy(), "TEXT")
    kind = node.to
    pattern = _PATTERNS.get(kind.this)
    if pattern:
        valid: exp.Expr = exp.RegexpLike(this=text, expression=build.text(pattern))
    else:  # since PostgreSQL 16
        arguments = [text, build.text(kind.sql(dialect="postgres"))]
        valid = exp.Anonymous(this="pg_input_is_valid", expressions=arguments)
    cast = exp.Cast(this=text.copy(), to=kind.copy())
    return exp.Case(ifs=[exp.If(this=valid, true=cast)])


def _half_away_from_zero(node: exp.Round) -> exp.Expr:
    """Return a double rounded as elsewhere; PostgreSQL rounds halves of doubles to even numbers."""
    half = exp.cast(exp.Literal.number(_HALF), "DOUBLE")
    away = exp.Mul(this=exp.Sign(this=node.this.copy()), expression=half)
    total = exp.Add(this=exp.Paren(this=node.this.copy()), expression=exp.Paren(this=away))
    return exp.Anonymous(this="TRUNC", expressions=[total])


def _changed_case(node: exp.Expr) -> exp.Expr:
    """Return LOWER or UPPER of all letters; under the byte collation only A to Z would change."""
    if isinstance(node.parent, exp.Collate):
        return node
    text = exp.Collate(
        this=_in_brackets(node.this), expression=exp.to_identifier("default", quoted=True)
    )
    return byte_order(type(node)(this=text))


def _in_brackets(node: exp.Expr) -> exp.Expr:
    """Return a copy of a text in brackets, so that a collation can be added."""
    return node.copy() if isinstance(node, exp.Column) else exp.Paren(this=node.copy())


def _for_spark(node: exp.Expr) -> exp.Expr:
    if is_place_in_list(node):
        return _search_list(node)
    if isinstance(node, exp.Extract) and node.name.upper() == "DOW":
        # Spark's week starts with 1 on Sunday, that of the others with 0.
        day = exp.Anonymous(this="DAYOFWEEK", expressions=[node.expression.copy()])
        return exp.Paren(this=exp.Sub(this=day, expression=build.number(1)))
    if isinstance(node, (exp.Floor, exp.Ceil)) and node.meta.pop(WIDE, None):
        # Spark's result has 64 bits; doubles beyond 2**53 are whole already.
        size = exp.Abs(this=node.this.copy())
        small = exp.LT(this=size, expression=exp.Literal.number("9007199254740992e0"))
        cut = exp.cast(node.copy(), "DOUBLE")
        return exp.Case(ifs=[exp.If(this=small, true=cut)], default=node.this.copy())
    if isinstance(node, exp.TryCast):
        node.set("safe", True)  # otherwise sqlglot writes CAST, which fails in ANSI mode
    if isinstance(node, exp.Collate) and node.expression.name == "C":
        node.set("expression", exp.to_identifier("UTF8_BINARY"))
    return node


_REWRITES: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    "duckdb": _for_duckdb,
    "postgres": _for_postgres,
    "spark": _for_spark,
}
