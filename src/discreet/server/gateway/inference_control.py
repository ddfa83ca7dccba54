"""Exact aggregates for users without access to rows: classic inference control, not privacy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.engine import ArrowTable
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import (
    PUBLIC,
    Authority,
    InferenceControl,
    Privilege,
    Relation,
    Subject,
)
from discreet.guard.access.decide import any_privilege, masked_columns, reach
from discreet.guard.rewrite.authorize import authorize_query, relations_of
from discreet.guard.rewrite.bind import bind_query
from discreet.guard.rewrite.confirm import confirm_query
from discreet.guard.rewrite.permitted import PermittedQuery
from discreet.guard.rewrite.policies import has_policies
from discreet.guard.statements.statement import Statement
from discreet.server.gateway.answer_history import AnswerHistory, AuditedQuestion
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.parameters import blank_parameters, require_row_query
from discreet.server.gateway.plans import ControlledPlan, DecisionBasis
from discreet.server.gateway.policy_tables import find_policy_table
from discreet.server.gateway.session_state import SessionState
from discreet.server.session import Notice, PreparedStatement
from discreet.sql import build
from discreet.sql.names import fold_identifier
from discreet.sql.walk import extra_clauses

ROWS = "*"  # in place of a column: the number of rows of each person is summed
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
_LIKE = (exp.Like, exp.ILike)
_VALUES = (exp.Literal, exp.Parameter, exp.Null, exp.Boolean)
# Nothing here fails for some rows only, except values, which are evaluated before.
_CONDITIONS = (
    *_COMPARED,
    *_LIKE,
    *_VALUES,
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Column, exp.Identifier, exp.Neg, exp.Cast, exp.DataType, exp.DataTypeParam),
)


@dataclass(frozen=True)
class AggregateQuery:
    """SELECT count, sum or avg of `columns` FROM `table` WHERE `condition`."""

    table: exp.Table
    columns: tuple[str, ...]
    counts_rows: bool
    condition: exp.Expr | None

    def named(self) -> set[str]:
        """Return the columns that it aggregates."""
        found = self.condition.find_all(exp.Column) if self.condition is not None else ()
        return {*self.columns, *(_column_name(column) for column in found)}


def _read_aggregate_query(tree: exp.Query) -> AggregateQuery | None:
    """Return the shape of a query, or None if a control cannot judge it.

    >>> from sqlglot import parse_one
    >>> _read_aggregate_query(parse_one("SELECT sum(pay) FROM staff WHERE age < 30")).columns
    ('pay',)
    >>> _read_aggregate_query(parse_one("SELECT max(pay) FROM staff")) is None
    True
    """
    if not isinstance(tree, exp.Select) or extra_clauses(tree, ("expressions", "from_", "where")):
        return None
    source = tree.args.get("from_")
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or extra_clauses(table, ("this", "db", "alias")):
        return None
    if table.alias_column_names:
        return None
    aggregates = [_aggregated_column(item.unalias()) for item in tree.expressions]
    where = tree.args.get("where")
    condition = where.this if where is not None else None
    if None in aggregates or not _is_plain(condition):
        return None
    columns = dict.fromkeys(name for name in aggregates if name not in (None, ROWS))
    return AggregateQuery(table, tuple(filter(None, columns)), ROWS in aggregates, condition)


def _people_query(shape: AggregateQuery, unit: Sequence[str]) -> exp.Select:
    """Return a query with a row for each person: `unit`, how many rows, how many meet the condition.

    Then for each column how many of the rows have a value, and how many of those that meet it.
    """
    keys = [build.column(name) for name in unit]
    counted: list[exp.Expr] = [build.number(1), *(build.column(name) for name in shape.columns)]
    numbers = [
        exp.Count(this=each)
        for value in counted
        for each in (value.copy(), _where_met(shape.condition, value))
    ]
    items = [
        build.alias_as(tree.copy(), f"c{place}") for place, tree in enumerate([*keys, *numbers])
    ]
    return build.select(*items, source=shape.table.copy()).group_by(*keys)


def _constants_query(shape: AggregateQuery, relation: Relation) -> exp.Select | None:
    """Return a query that casts all values of a condition to their compared types, without any row.

    It fails if one of them is invalid, so that no error depends on which rows exist.
    """
    if shape.condition is None:
        return None
    casts = list(_comparison_constants(shape.condition, relation))
    return exp.select(*casts) if casts else None


def _where_met(condition: exp.Expr | None, value: exp.Expr) -> exp.Expr:
    if condition is None:
        return value.copy()
    return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])


def _comparison_constants(condition: exp.Expr, relation: Relation) -> Iterator[exp.Expr]:
    yield from (cast.copy() for cast in condition.find_all(exp.Cast))
    for node in condition.find_all(*_COMPARED, exp.NullSafeEQ, exp.NullSafeNEQ):
        sides = [part.unnest() for part in node.iter_expressions()]
        columns = [
            relation.column(_column_name(one)) for one in sides if isinstance(one, exp.Column)
        ]
        for column in columns:
            if column is not None:
                kind = exp.DataType.build(column.type, dialect="postgres")
                texts = (one for one in sides if isinstance(one, exp.Literal) and one.is_string)
                yield from (exp.Cast(this=text.copy(), to=kind.copy()) for text in texts)


def _column_name(column: exp.Column) -> str:
    return fold_identifier(column.this)


def _aggregated_column(tree: exp.Expr) -> str | None:
    """Return the column that is counted, summed or averaged, `ROWS` for count(*), else None."""
    if isinstance(tree, exp.Count) and isinstance(tree.this, exp.Star):
        return None if tree.expressions or extra_clauses(tree.this, ()) else ROWS
    if type(tree) not in (exp.Count, exp.Sum, exp.Avg) or extra_clauses(tree, ("this", "big_int")):
        return None
    column = tree.this
    is_column = isinstance(column, exp.Column) and not isinstance(column.this, exp.Star)
    return _column_name(column) if is_column else None


def _is_plain(condition: exp.Expr | None) -> bool:
    if condition is None:
        return True
    return all(type(node) in _CONDITIONS and _is_safe(node) for node in condition.walk())


def _is_safe(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return isinstance(node.this, _VALUES)
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal) and not node.this.is_string
    if isinstance(node, _LIKE):
        # A pattern that ends in a backslash fails only for rows that match up to there.
        pattern = node.expression
        pattern = pattern.this if isinstance(pattern, exp.Cast) else pattern
        return isinstance(pattern, _VALUES) and "\\" not in pattern.name
    if isinstance(node, exp.In):
        return not extra_clauses(node, ("this", "expressions"))
    return True


BAD_SIZE = "the question is about too few or too many people"
WARNING = Notice(
    "WARNING",
    "Exact answers under a size rule can be broken by a tracker; see docs/attacks/tracker.md. "
    "Differential privacy (GRANT AGGREGATE … WITH BUDGET) cannot.",
    sqlstate="01000",
)
_HINT = "A control allows: SELECT count(*), sum(column), avg(column) FROM one table WHERE simple comparisons."
_WRITING = (Privilege.INSERT, Privilege.UPDATE, Privilege.DELETE, Privilege.TRUNCATE)


@dataclass(frozen=True)
class _QuerySet:
    """The number of rows of each person, and how many of them a query covers."""

    whole: NDArray[np.int64]
    met: NDArray[np.int64]

    @property
    def people(self) -> NDArray[np.bool_]:
        return self.met > 0

    def obeys(self, control: InferenceControl) -> bool:
        """Whether enough people are included, and enough are excluded."""
        size, everybody = int(np.count_nonzero(self.met)), int(np.count_nonzero(self.whole))
        if size == everybody and control.everybody:
            return size >= control.size
        return control.size <= size <= everybody - control.size


def prepare_controlled(
    session: SessionState, statement: Statement, tree: exp.Query, declared: Sequence[str | None]
) -> PreparedStatement | None:
    """Return a denied query as an exact query, None if no control applies to its sender.

    Nothing is executed, and nothing counts as answered.

    Raises:
        AccessDenied: 42501, a control applies, but does not allow this query.
    """
    relation = _controlled_table(session, tree)
    if relation is None:
        return None
    _require_askable(session, relation)
    shape = _read_aggregate_query(tree)
    if shape is None:
        raise _access_denied(relation, "the question is not an aggregate that a control can judge")
    _require_plain(session, relation, shape)
    permitted = _as_owner(session, relation, tree, declared)
    fields = session.transaction.read().describe(
        blank_parameters(permitted.tree, permitted.parameters)
    )
    basis = DecisionBasis(session.authority, session.role, session.clearance, session.keys.handles)
    names = tuple(
        one.name for one in _applicable_controls(session.authority, session.role, relation)
    )
    plan = ControlledPlan(basis, tree, permitted.parameters, relation, names)
    return PreparedStatement(statement, permitted.parameters, fields, plan)


def answer_controlled(
    session: SessionState, plan: ControlledPlan, values: Sequence[object], note: AuditDraft
) -> ArrowTable:
    """Return the exact answer, if the rules allow it; it is stored as answered from then on."""
    relation = plan.relation
    traits = session.traits
    tree = require_row_query(bind_query(plan.tree, plan.parameters, values, traits=traits))
    shape = _read_aggregate_query(tree)
    if shape is None:
        raise _access_denied(relation, "the question is not an aggregate that a control can judge")
    controls = _applicable_controls(session.authority, session.role, relation)
    note.kind, note.reason = "question", f"control {', '.join(plan.controls)}"
    note.add_read(relation.key, shape.named())
    session.require_same((), relation.key)
    connection = session.transaction.read()
    if not connection.in_transaction:  # people and answer come from one snapshot
        connection.begin()
    constants = _constants_query(shape, relation)
    if constants is not None:
        connection.query(_as_owner(session, relation, constants).tree)
    _require_admissible(session, relation, shape, controls)
    answer = _as_owner(session, relation, tree)
    return connection.query(answer.tree, limit=1)


def explain_control(plan: ControlledPlan) -> list[str]:
    """Return lines that explain what a control does with a query."""
    return [
        f"The answer is exact, if control {', '.join(plan.controls)} allows it.",
        WARNING.message,
    ]


def _controlled_table(session: SessionState, tree: exp.Query) -> Relation | None:
    """Return the table of a query, if its sender has a control on it."""
    relations = relations_of(tree, session.authority, session.subject)
    if len(relations) != 1:
        return None
    found = _applicable_controls(session.authority, session.role, relations[0])
    return relations[0] if found else None


def _applicable_controls(
    authority: Authority, role: str, relation: Relation
) -> list[InferenceControl]:
    ways = {*reach(authority, role, "inherit"), PUBLIC}
    return [control for control in relation.controls if ways & set(control.roles)]


def _require_askable(session: SessionState, relation: Relation) -> None:
    if relation.kind != "table" or relation.multilevel:
        raise StatementFailed("0A000", f'"{relation.name}" has labels: no control applies to it')
    # Through any role that the user can become.
    roles = {session.role, *reach(session.authority, session.user, "use")}
    if any(any_privilege(session.authority, role, relation, _WRITING) for role in roles):
        # A user could insert rows to enlarge a group that is too small.
        raise AccessDenied(
            f"permission denied for table {relation.name}",
            reason=f"{session.role} writes {relation.name}, and can enlarge groups",
            hint="A role that may write a table cannot query it under a control.",
        )


def _require_plain(session: SessionState, relation: Relation, shape: AggregateQuery) -> None:
    cells = {column.name for column in relation.columns if column.key is not None}
    if cells & {*shape.named(), *_unit_columns(session, relation)}:
        raise _access_denied(relation, "the question uses an encrypted column")
    if masked_columns(session.authority, session.role, relation) & shape.named():
        raise _access_denied(relation, "the question uses a column that is masked for its sender")
    if has_policies(session.authority, session.role, relation):
        raise _access_denied(relation, f"row policies of {relation.name} apply to {session.role}")


def _access_denied(relation: Relation, reason: str) -> AccessDenied:
    return AccessDenied(f"permission denied for table {relation.name}", reason=reason, hint=_HINT)


def _unit_columns(session: SessionState, relation: Relation) -> tuple[str, ...]:
    """Return the columns that identify the person of a row."""
    table_policy = find_policy_table(session.policy, relation)
    if (
        table_policy is not None
        and table_policy.unit is not None
        and relation.column(table_policy.unit) is not None
    ):
        return (table_policy.unit,)
    if not relation.primary_key:
        raise StatementFailed(
            "55000",
            f'a control needs a unit or a primary key: whose rows are in "{relation.name}"?',
            hint="Name the unit in the server's policy, or create the table with a PRIMARY KEY.",
        )
    return relation.primary_key


def _as_owner(
    session: SessionState,
    relation: Relation,
    tree: exp.Query,
    declared: Sequence[str | None] = (),
) -> PermittedQuery:
    """Return a query with the privileges of the table's owner."""
    traits = session.traits
    owner = Subject(relation.owner, relation.owner, None, session.subject.settings)
    permitted = authorize_query(tree, session.authority, owner, traits=traits, declared=declared)
    confirm_query(
        blank_parameters(permitted.tree, permitted.parameters),
        permitted.physical,
        dialect=traits.dialect,
    )
    return permitted


def _require_admissible(
    session: SessionState,
    relation: Relation,
    shape: AggregateQuery,
    controls: Sequence[InferenceControl],
) -> None:
    unit = _unit_columns(session, relation)
    query = _as_owner(session, relation, _people_query(shape, unit)).tree
    limit = session.limits.rows
    table = session.transaction.read().query(query, limit=limit)
    rows, crowds = _query_sets(table, shape, len(unit))
    for control in controls:
        if not all(crowd.obeys(control) for crowd in (rows, *crowds.values())):
            raise AccessDenied(BAD_SIZE, reason=f"control {control.name}: size")
    strict = [one for one in controls if one.overlap is not None or one.audit]
    if strict and bool(np.any(rows.people & (rows.met < rows.whole))):
        raise AccessDenied(
            "the question includes some rows of a person and excludes others",
            reason=f"control {strict[0].name}: whole people",
        )
    if shape.counts_rows and unit != relation.primary_key:
        crowds = {**crowds, ROWS: rows}
    answered = AnswerHistory(session.control, session.vault.documents, ".".join(relation.key))
    people = [column.to_pylist() for column in table.columns[: len(unit)]]
    numbers = answered.fingerprints(zip(*people, strict=True))
    answered.admit(
        AuditedQuestion(
            _joint_askers(session, controls),
            numbers[rows.people],
            {name: numbers[crowd.people] for name, crowd in crowds.items()},
            min((one.overlap for one in controls if one.overlap is not None), default=None),
            any(one.audit for one in controls),
            ", ".join(one.name for one in strict or controls),
        )
    )


def _query_sets(
    table: ArrowTable, shape: AggregateQuery, keys: int
) -> tuple[_QuerySet, Mapping[str, _QuerySet]]:
    """Return the people of a query, and those with a value in each column."""
    counts = [
        column.to_numpy(zero_copy_only=False).astype(np.int64) for column in table.columns[keys:]
    ]
    found = [_QuerySet(*counts[place : place + 2]) for place in range(0, len(counts), 2)]
    return found[0], dict(zip(shape.columns, found[1:], strict=True))


def _joint_askers(session: SessionState, controls: Sequence[InferenceControl]) -> frozenset[str]:
    """Return whose answers count together: the user's, the role's, and those of a control's roles."""
    ways = {*reach(session.authority, session.role, "inherit"), PUBLIC}
    shared = {role for control in controls for role in control.roles if role in ways}
    named = {session.user, session.role, *shared}
    return frozenset(session.authority.identity_of(name) or name for name in named)
