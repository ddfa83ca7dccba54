"""Published questions taken apart: whose numbers each of their answers adds up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError

from discreet.attacks.questions.domains import column_equals
from discreet.engines.engine import Table
from discreet.errors import InvalidQuestion, UnknownColumn, did_you_mean
from discreet.sql import build

MOST = 1000  # answers, of which each group of a question is one


@dataclass(frozen=True)
class Sum:
    """One published number: the sum of `summand` over the rows where `where` holds."""

    question: str
    summand: exp.Expr
    where: exp.Expr
    is_mean: bool = False


def read_questions(texts: Iterable[str], table: Table) -> list[exp.Select]:
    """Return the SELECT statements of several texts, their columns those of `table`.

    Raises:
        InvalidQuestion: A text holds something else.
        UnknownColumn: A question names a column that is not there.
    """
    found: list[exp.Select] = []
    for text in texts:
        trees: list[Any] = []
        try:
            trees = [tree for tree in parse(text, dialect=table.engine.dialect) if tree is not None]
        except SqlglotError:
            trees = [None]
        for number, tree in enumerate(trees, start=1):
            found.append(_require_simple_select(tree, number, table))
    return found


def _require_simple_select(tree: Any, number: int, table: Table) -> exp.Select:
    is_plain = isinstance(tree, exp.Select) and len(list(tree.find_all(exp.Query))) == 1
    if not is_plain or len(list(tree.find_all(exp.Table))) != 1:
        raise InvalidQuestion(
            f"Statement {number} cannot be read as a question in SQL about one table. Write sums and "
            "counts without subqueries, with semicolons between statements."
        )
    if tree.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        raise InvalidQuestion(
            f"Statement {number} groups in several ways at once. Write one statement for each way."
        )
    known = {column.name.lower(): column.name for column in table.columns}
    called = {item.alias.lower(): item.this for item in tree.expressions if item.alias}
    for column in list(tree.find_all(exp.Column)):
        name = column.name.lower()
        if name in known:
            column.replace(build.column(known[name]))
        elif name in called:
            column.replace(_named_columns(called[name].copy(), known))
        else:
            near = did_you_mean(column.name, known.values())
            raise UnknownColumn(f"Column '{column.name}' is not in {table.label}.{near}")
    return tree


def _named_columns(expression: exp.Expr, known: Mapping[str, str]) -> exp.Expr:
    """Return an expression with the table's own names of its columns."""
    return expression.transform(
        lambda node: (
            build.column(known.get(node.name.lower(), node.name))
            if isinstance(node, exp.Column)
            else node
        )
    )


def sums_of(
    questions: Sequence[exp.Select], table: Table, *, secrets: Sequence[str]
) -> tuple[list[Sum], list[str]]:
    """Return every number that the questions publish, and the aggregates that are no sums.

    A condition on a secret column is no public group: COUNT(*) WHERE ill = 'flu' AND age < 30 is the
    sum of `ill = 'flu'` over those under 30. A mean is a sum to anyone who knows the group's size.
    """
    sums: list[Sum] = []
    others: list[str] = []
    for question in questions:
        text = question.sql(dialect=table.engine.dialect)
        for aggregate in question.find_all(exp.AggFunc):
            parts = _read_summand(aggregate)
            if parts is None:
                others.append(type(aggregate).__name__.upper())
                continue
            summand, filters = parts
            sums += [
                _sum(text, summand, [*conditions, *filters], secrets, aggregate)
                for conditions in _group_conditions(question, table)
            ]
    if len(sums) > MOST:
        raise InvalidQuestion(
            f"The questions have {len(sums):,} answers; at most {MOST:,} are judged at once. Leave out "
            "groups, or judge them in parts."
        )
    return sums, others


def summed_columns(questions: Sequence[exp.Select]) -> list[str]:
    """Return the columns whose numbers the questions add up."""
    names: dict[str, None] = {}
    for question in questions:
        for aggregate in question.find_all(exp.Sum, exp.Avg):
            parts = _read_summand(aggregate)
            found = parts[0].find_all(exp.Column) if parts else ()
            names |= dict.fromkeys(column.name for column in found)
    return list(names)


def _read_summand(aggregate: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]] | None:
    """Return what an aggregate adds up, and where; None when it adds up nothing."""
    inner, around = aggregate.this, aggregate.parent
    if isinstance(around, exp.Window) or isinstance(inner, exp.Distinct):
        return None
    filters = _split_conjuncts(around.expression.this) if isinstance(around, exp.Filter) else []
    case = _single_case(inner)
    if isinstance(aggregate, exp.Count):
        if inner is None or isinstance(inner, (exp.Star, exp.Literal)):
            return build.number(1), filters
        if case is not None and case[1].is_number:
            return build.number(1), [*filters, *case[0]]
        known = exp.Not(this=build.is_null(inner.copy()))
        return build.number(1), [*filters, known]
    if isinstance(aggregate, exp.Sum) and case is not None:
        return case[1].copy(), [*filters, *case[0]]
    if isinstance(aggregate, (exp.Sum, exp.Avg)):
        return inner.copy(), filters
    return None


def _single_case(inner: exp.Expr | None) -> tuple[list[exp.Expr], exp.Expr] | None:
    """Return the conditions and the value of CASE WHEN … THEN … (ELSE 0) END."""
    if not isinstance(inner, exp.Case) or inner.this is not None or len(inner.args["ifs"]) != 1:
        return None
    default = inner.args.get("default")
    if default is not None and not (default.is_number and float(default.name) == 0):
        return None
    only = inner.args["ifs"][0]
    return _split_conjuncts(only.this), only.args["true"]


def _group_conditions(question: exp.Select, table: Table) -> list[list[exp.Expr]]:
    """Return the conditions of each answer: those of WHERE, and one for each key."""
    where = question.args.get("where")
    base = _split_conjuncts(where.this) if where else []
    group = question.args.get("group")
    if group is None:
        return [base]
    keys = [_resolve_key(key, question) for key in group.expressions]
    if group.args.get("all"):
        keys = [item.unalias() for item in question.expressions if not item.find(exp.AggFunc)]
    named = [build.alias_as(key.copy(), f"k{place}") for place, key in enumerate(keys)]
    query = build.select(*named, source=table.relation.copy())
    query = query.where(*(part.copy() for part in base)).group_by(*(key.copy() for key in keys))
    rows = table.engine.run(query.limit(MOST + 1)).to_pylist()
    return [
        [*base, *(_key_equals(key, value) for key, value in zip(keys, row.values(), strict=True))]
        for row in rows
    ]


def _resolve_key(key: exp.Expr, question: exp.Select) -> exp.Expr:
    """Return what a key stands for: GROUP BY 1 is the first column of the answer."""
    if isinstance(key, exp.Literal) and key.is_int:
        key = question.expressions[int(key.this) - 1]
    return key.unalias()


def _key_equals(key: exp.Expr, value: Any) -> exp.Expr:
    place = key if isinstance(key, exp.Column) else exp.paren(key.copy())
    return column_equals("x", value).transform(
        lambda node: place.copy() if isinstance(node, exp.Column) else node
    )


def _sum(
    text: str,
    summand: exp.Expr,
    conditions: Sequence[exp.Expr],
    secrets: Sequence[str],
    aggregate: exp.Expr,
) -> Sum:
    hidden = [part for part in conditions if _mentions_columns(part, secrets)]
    public = [part for part in conditions if not _mentions_columns(part, secrets)]
    if hidden:
        test = build.all_of(part.copy() for part in hidden)
        chosen = exp.If(this=test, true=summand.copy())
        summand = exp.Case(ifs=[chosen], default=build.number(0))
    where = build.all_of(part.copy() for part in public)
    return Sum(text, summand, where, is_mean=isinstance(aggregate, exp.Avg))


def _mentions_columns(condition: exp.Expr, names: Sequence[str]) -> bool:
    return any(column.name in names for column in condition.find_all(exp.Column))


def _split_conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    inner = condition.unnest()
    return list(inner.flatten()) if isinstance(inner, exp.And) else [inner]
