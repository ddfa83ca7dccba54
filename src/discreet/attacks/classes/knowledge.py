"""What an adversary knows beforehand: columns, and conditions such as diagnosis <> 'flu'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.measure.roles import RoleBinding, require_column
from discreet.sql import build
from discreet.sql.bounded import parse_bounded

IMPLIES = re.compile(r"\s+implies\s+", re.IGNORECASE)
# A condition compares columns with literals; it asks no other table and calls no function.
_PARTS = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
    exp.Predicate,
    exp.Tuple,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Neg,
    exp.Column,
    exp.Identifier,
)


@dataclass(frozen=True)
class Knowledge:
    """Columns whose value the adversary knows for a target, and conditions that hold for it."""

    columns: tuple[str, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def words(self) -> str | None:
        """What is known, in words that name columns and no value; None when nothing is."""
        phrases = [f"the person's {join_names(self.columns)}"] if self.columns else []
        if self.conditions:
            about = {
                column.name for item in self.conditions for column in item.find_all(exp.Column)
            }
            phrases.append(f"what is said of {join_names(sorted(about))}")
        return join_names(phrases) if phrases else None


def read_knowledge(texts: Sequence[str], table: Table) -> Knowledge:
    """Return what texts say: each is a column's name or a condition on columns of the table.

    `a implies b` stands for `not a or b`.

    Raises:
        WrongUsage: A text is no condition.
        UnknownColumn: It names a column that the table does not have.
    """
    columns = tuple(text for text in texts if table.column(text) is not None)
    conditions = tuple(_read_condition(text, table) for text in texts if text not in columns)
    return Knowledge(columns, conditions)


def with_knowledge(bound: RoleBinding, known: Knowledge) -> RoleBinding:
    """Return the release as seen by an adversary who knows this about the person sought.

    Rows that contradict a condition are gone: they are not the person's. A condition about a missing
    value is not contradicted. Known columns are among those that make classes.
    """
    subject = bound.subject
    table = subject.table
    if known.conditions:
        # Unknown is not false: COALESCE keeps rows whose value is missing.
        holds = [
            exp.Coalesce(this=exp.paren(c), expressions=[exp.true()]) for c in known.conditions
        ]
        names = [build.column(column.name) for column in table.columns]
        kept = build.select(*names, source=table.relation).where(build.all_of(holds))
        table = replace(table, relation=table.engine.keep(kept))
    added = tuple(require_column(table, name) for name in known.columns)
    sensitive = tuple(column for column in subject.sensitive if column not in added)
    quasi = (*(column for column in subject.quasi if column not in added), *added)
    return replace(bound, subject=replace(subject, table=table, quasi=quasi, sensitive=sensitive))


def knowing_only(bound: RoleBinding, known: Knowledge) -> RoleBinding:
    """Return the same release for an adversary who knows the columns and not the quasi-identifiers."""
    columns = tuple(require_column(bound.subject.table, name) for name in known.columns)
    return replace(bound, subject=replace(bound.subject, quasi=columns))


def _read_condition(text: str, table: Table) -> exp.Expr:
    first, *rest = IMPLIES.split(text.strip())
    if len(rest) > 1:
        raise WrongUsage(f"'{text}' says `implies` twice. Give two conditions, each with --knows.")
    parts = [_parse(part, whole=text) for part in (first, *rest)]
    for part in parts:
        _require_plain(part, whole=text)
        for column in list(part.find_all(exp.Column)):
            found = require_column(table, column.name)
            column.replace(build.column(found.name))
    if not rest:
        return parts[0]
    return exp.or_(exp.not_(exp.paren(parts[0])), exp.paren(parts[1]))


def _parse(text: str, *, whole: str) -> exp.Expr:
    try:
        # Within parentheses a lone column stays the root's child, and can be replaced.
        trees = parse_bounded(f"({text})", dialect="duckdb")
    except SqlglotError:
        trees = ()
    found = trees[0] if len(trees) == 1 else None
    if found is None or found.find(exp.Column) is None:
        raise WrongUsage(
            f"'{whole}' is neither a column nor a condition. Write it as in SQL, such as "
            "\"diagnosis <> 'flu'\" or \"sex = 'M' implies diagnosis <> 'ovarian cyst'\"."
        )
    return found


def _require_plain(condition: exp.Expr, *, whole: str) -> None:
    for node in condition.walk():
        if not isinstance(node, _PARTS) or isinstance(node, (exp.SubqueryPredicate, exp.Query)):
            raise WrongUsage(
                f"'{whole}' does more than compare columns with values. Use =, <>, <, >, IN, BETWEEN, "
                "LIKE, IS NULL, AND, OR and NOT."
            )
