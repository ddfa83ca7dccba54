"""SQL text to exactly one SELECT, with every clause on an allow-list: what is not known is refused."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import InvalidQuestion, QuestionRefused
from discreet.sql.bounded import TooLarge, parse_bounded
from discreet.sql.walk import AllowList

DIALECT = "duckdb"

# The clauses that each part of a statement may have; any other one refuses the question.
_CLAUSES: Mapping[type[exp.Expr], frozenset[str]] = {
    exp.Select: frozenset(
        {
            *("expressions", "from_", "joins", "where", "group", "having", "order", "limit"),
            *("offset", "with_", "distinct"),
        }
    ),
    exp.Union: frozenset({"this", "expression", "distinct", "with_", "order", "limit", "offset"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),
    exp.With: frozenset({"expressions"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Group: frozenset({"expressions", "rollup", "cube", "grouping_sets", "all"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
}

_REASONS = {
    "sample": "a sample of rows depends on chance that no budget was spent on. Aggregate all rows.",
    "qualify": "QUALIFY filters by window functions. Use HAVING on aggregates.",
    "windows": "window functions look at other people's rows. Use aggregates with GROUP BY.",
    "pivots": "PIVOT takes its columns from the data. Use GROUP BY.",
    "into": "a question writes nothing.",
    "locks": "a question locks nothing.",
    "laterals": "LATERAL reads one table per row of another. Use a JOIN.",
    "db": "tables of other schemas, and system tables, cannot be asked about.",
    "catalog": "tables of other databases cannot be asked about.",
    "method": "NATURAL, ASOF and POSITIONAL joins do not say what is compared. Write JOIN … ON.",
    "recursive": "recursive queries are not supported. Write out the steps.",
    "by_name": "UNION BY NAME is not supported. List the columns in their order.",
    "columns": "columns of an alias are not supported. Name them in the SELECT.",
}
# The usual names of clauses that have another name in sqlglot.
_CLAUSE_NAMES = {
    "by_name": "BY NAME",
    "catalog": "Another database",
    "columns": "A list of columns behind an alias",
    "db": "Another schema",
    "laterals": "LATERAL",
    "locks": "FOR UPDATE",
    "method": "This kind of join",
    "pivots": "PIVOT",
    "sample": "A sample",
    "windows": "WINDOW",
}


# sqlglot logs what it cannot parse; that is refused here with our own message.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def split_questions(text: str) -> list[str]:
    """Return the statements of a text, which semicolons separate.

    Raises:
        InvalidQuestion: The text is no SQL, or has no statement.

    >>> split_questions("SELECT count(*) FROM a; SELECT count(*) FROM b WHERE c = ';';")
    ['SELECT COUNT(*) FROM a', "SELECT COUNT(*) FROM b WHERE c = ';'"]
    """
    found = [tree.sql(dialect=DIALECT, comments=False) for tree in _parse_statements(text)]
    if not found:
        raise InvalidQuestion("There is no question in this text. Write a SELECT.")
    return found


def parse_question(text: str) -> exp.Query:
    """Return the one query that `text` holds.

    Raises:
        InvalidQuestion: The text is no SQL, or no single statement.
        QuestionRefused: The statement is no SELECT, or has a clause that is not supported.

    >>> parse_question("SELECT count(*) FROM patients").sql()
    'SELECT COUNT(*) FROM patients'
    """
    found = _parse_statements(text)
    if len(found) != 1:
        raise InvalidQuestion(
            f"A question is one SQL statement; this text has {len(found)}. Ask one at a time, or all "
            "of them as a workload: `discreet ask --workload`, or Curator.ask_all."
        )
    return _check_query(found[0])


def _parse_statements(text: str) -> Sequence[exp.Expr]:
    try:
        return parse_bounded(text, dialect=DIALECT)
    except TooLarge as error:
        reason = str(error)
    except SqlglotError as error:
        reason = _error_position(error)
    raise InvalidQuestion(f"The question cannot be read as SQL. {reason}")


def _error_position(error: SqlglotError) -> str:
    details = getattr(error, "errors", None) or [{}]
    line, column = details[0].get("line"), details[0].get("col")
    near = str(details[0].get("highlight") or "")
    place = f"Look at line {line}, column {column}" if line else "Look at its quotes and brackets"
    return f"{place}, near '{near}'." if near else f"{place}."


def _check_query(tree: exp.Expr) -> exp.Query:
    if not isinstance(tree, (exp.Select, exp.Union)):
        kind = _statement_verb(tree)
        if kind == "EXPLAIN":
            raise QuestionRefused(
                "EXPLAIN is a verb of its own here: `discreet explain`, or Curator.explain."
            )
        raise QuestionRefused(f"Only SELECT is answered, not {kind}. Ask for aggregates of rows.")
    _ALLOWED.check(tree)
    return tree


def _statement_verb(tree: exp.Expr) -> str:
    """Return the word that a statement begins with, as far as it was understood."""
    return str(tree.this if isinstance(tree, exp.Command) else type(tree).__name__).upper()


def _refuse_node(node: exp.Expr) -> QuestionRefused | None:
    """Return the refusal of a statement or set operation; expressions have a list of their own."""
    if isinstance(node, exp.SetOperation):
        return QuestionRefused("INTERSECT and EXCEPT are not supported. Use WHERE conditions.")
    if isinstance(node, (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.DDL)):
        return QuestionRefused("Only SELECT is answered: a question changes nothing.")
    return None


def _refuse_clauses(node: exp.Expr, extra: list[str]) -> QuestionRefused:
    _check_limit(node)
    called = _CLAUSE_NAMES.get(extra[0], extra[0].strip("_").upper())
    return QuestionRefused(f"{called} is refused: {_REASONS.get(extra[0], 'it is not supported.')}")


def _check_limit(node: exp.Expr) -> None:
    if not isinstance(node, (exp.Limit, exp.Offset)):
        return
    count = node.expression
    if not isinstance(count, exp.Literal) or count.is_string or not str(count.this).isdigit():
        raise QuestionRefused("LIMIT and OFFSET take a whole number, such as LIMIT 10.")


_ALLOWED = AllowList(_CLAUSES, _refuse_node, _refuse_clauses, _check_limit)
