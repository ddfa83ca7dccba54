"""Numbers of sequences: given once, whatever becomes of the transaction, and never to a reader of labels.

The last number of a sequence is kept in the control store, so that gateways share it. To give one is a
write that everybody may see: a statement that gives numbers must not read cells above the bottom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from discreet.engines.engine import ArrowTable
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Authority, Name, Privilege, Relation, RelationColumn
from discreet.guard.access.decide import privilege_on
from discreet.guard.access.names import find_relation, look_up_relation
from discreet.guard.access.sequences import (
    SequenceBounds,
    default_sequence,
    owned_sequences,
    read_sequence_name,
)
from discreet.guard.rewrite.permitted import PermittedWrite
from discreet.guard.rewrite.rows import is_default
from discreet.guard.statements import objects
from discreet.guard.statements.statement import Statement, Write
from discreet.server.gateway.plans import DecisionBasis
from discreet.server.gateway.session_state import SessionState
from discreet.server.gateway.sources import require_bottom
from discreet.server.session import PreparedStatement
from discreet.sql import build
from discreet.sql.names import fold_identifier

_KIND = "sequence"  # of documents in the control store


def start_sequences(
    session: SessionState, before: Authority, after: Authority, statement: Statement
) -> None:
    """Set new sequences to their start, and one that is restarted to the number it restarts with."""
    for key, relation in after.relations.items():
        if relation.kind != "sequence":
            continue
        known = before.relations.get(key)
        if known is None or known.options["id"] != relation.options["id"]:
            is_known = any(
                other.options.get("id") == relation.options["id"]
                for other in before.relations.values()
            )
            if not is_known:
                _set_number(session, relation, SequenceBounds.of(relation).start, is_called=False)
    if isinstance(statement, objects.AlterSequence) and statement.options.restart is not None:
        found = _find_changed(after, statement)
        if found is not None:
            given = statement.options.restart
            number = given if isinstance(given, int) else SequenceBounds.of(found).start
            _set_number(session, found, number, is_called=False)


def _find_changed(after: Authority, statement: objects.AlterSequence) -> Relation | None:
    schema, name = statement.relation
    return after.relations.get((schema or "public", name))


def _set_number(session: SessionState, relation: Relation, number: int, *, is_called: bool) -> None:
    body = {"last": number, "called": is_called}
    session.vault.documents.put(_KIND, relation.options["id"], body)


def take_numbers(session: SessionState, relation: Relation, count: int) -> int:
    """Return the first of `count` numbers of a sequence, which are then given.

    Raises:
        StatementFailed: 2200H, there are no more; 25006, the transaction is read-only.
    """
    session.variables.require_writes("nextval()")
    bounds = SequenceBounds.of(relation)
    if count == 0:
        return bounds.start

    def step(found: Mapping[str, Any] | None) -> Mapping[str, Any]:
        first = bounds.start
        if found is not None:
            first = int(found["last"]) + (bounds.increment if found["called"] else 0)
        last = first + bounds.increment * (count - 1)
        if bounds.minimum <= last <= bounds.maximum and bounds.minimum <= first <= bounds.maximum:
            return {"last": last, "called": True}
        if not bounds.cycle or count > 1:
            word, bound = ("maximum", bounds.maximum)
            if bounds.increment < 0:
                word, bound = ("minimum", bounds.minimum)
            raise StatementFailed(
                "2200H", f'nextval: reached {word} value of sequence "{relation.name}" ({bound})'
            )
        return {"last": bounds.minimum if bounds.increment > 0 else bounds.maximum, "called": True}

    now = session.vault.documents.update(_KIND, relation.options["id"], step) or {}
    last = int(now["last"])
    session.numbers[relation.options["id"]] = last
    session.last_sequence = relation.key
    return last - bounds.increment * (count - 1)


def set_number(session: SessionState, relation: Relation, number: int, *, is_called: bool) -> None:
    """Set the last number of a sequence, as setval() does.

    Raises:
        StatementFailed: 22003, it is out of bounds.
    """
    session.variables.require_writes("setval()")
    bounds = SequenceBounds.of(relation)
    if not bounds.minimum <= number <= bounds.maximum:
        raise StatementFailed(
            "22003",
            f'setval: value {number} is out of bounds for sequence "{relation.name}" '
            f"({bounds.minimum}..{bounds.maximum})",
        )
    _set_number(session, relation, number, is_called=is_called)
    if is_called:
        session.numbers[relation.options["id"]] = number
        session.last_sequence = relation.key


def current_number(session: SessionState, relation: Relation) -> int:
    """Return the last number that this session was given: currval()."""
    found = session.numbers.get(relation.options["id"])
    if found is None:
        raise StatementFailed(
            "55000",
            f'currval of sequence "{relation.name}" is not yet defined in this session',
        )
    return found


def require_usage(session: SessionState, relation: Relation, *privileges: Privilege) -> None:
    """Refuse a role that has none of some privileges on a sequence.

    Raises:
        AccessDenied: 42501.
    """
    decisions = [privilege_on(session.authority, session.role, relation, one) for one in privileges]
    if not any(decisions):
        raise AccessDenied(
            f"permission denied for sequence {relation.name}", reason=decisions[0].reason
        )


def number_series(session: SessionState, sequence: Relation, count: int) -> exp.Expr:
    """Return the numbers of a sequence for `count` rows of one query."""
    first, step = take_numbers(session, sequence, count), SequenceBounds.of(sequence).increment
    if count <= 1:
        return exp.cast(build.number(first), "BIGINT")
    place = exp.Sub(
        this=exp.Paren(this=exp.Window(this=exp.RowNumber())), expression=build.number(1)
    )
    moved = exp.Mul(this=exp.Paren(this=place), expression=exp.Paren(this=build.number(step)))
    return exp.Add(this=exp.cast(build.number(first), "BIGINT"), expression=exp.Paren(this=moved))


# --- in writes ----------------------------------------------------------------------------------


def number_new_rows(session: SessionState, permitted: PermittedWrite) -> PermittedWrite:
    """Return an INSERT with numbers for serial and identity columns that it does not name."""
    if permitted.kind != "INSERT":
        return permitted
    for column in permitted.relation.columns:
        key = default_sequence(column)
        if key is None or column.name in permitted.columns:
            continue
        sequence = session.authority.relations[key]
        require_bottom(session, permitted.relation)
        if not column.identity:
            require_usage(session, sequence, Privilege.USAGE, Privilege.UPDATE)
        count = _count_rows(session, permitted)
        permitted = _with_column(permitted, column, number_series(session, sequence, count))
    return permitted


def _count_rows(session: SessionState, permitted: PermittedWrite) -> int:
    if permitted.rows is None or not permitted.columns:
        return 1
    source = permitted.rows.args.get("from_")
    if source is not None and isinstance(source.this, exp.Values):
        return len(source.this.expressions)
    counted = build.select(
        build.alias_as(build.count_star(), "n"),
        source=build.subquery(permitted.rows.copy(), "rows"),
    )
    return session.transaction.write().query(counted).to_pylist()[0]["n"]


def _with_column(
    permitted: PermittedWrite, column: RelationColumn, value: exp.Expr
) -> PermittedWrite:
    shown = build.alias_as(value, column.name)
    columns = (*permitted.columns, column.name)
    if permitted.rows is None or not permitted.columns:
        return replace(permitted, columns=columns, rows=exp.select(shown))
    names = [f"g{place}" for place in range(len(permitted.columns))]
    alias = exp.TableAlias(
        this=exp.to_identifier("numbered", quoted=True),
        columns=[exp.to_identifier(name, quoted=True) for name in names],
    )
    rows = exp.Subquery(this=permitted.rows.copy(), alias=alias)
    given = [
        build.alias_as(build.column(name, of="numbered"), into)
        for name, into in zip(names, permitted.columns, strict=True)
    ]
    return replace(permitted, columns=columns, rows=build.select(*given, shown, source=rows))


# --- as functions -------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberCall:
    """A call of nextval, currval or lastval, which is a parameter of its statement."""

    function: str
    sequence: Name | None  # None: lastval


@dataclass(frozen=True)
class SetCall:
    """A call of setval: the place of its result, and of whether the number counts as given."""

    sequence: Name
    place: int
    called: int | bool


@dataclass(frozen=True)
class NumberPlan:
    """A statement that calls functions of sequences, prepared with parameters in their place."""

    basis: DecisionBasis
    inner: PreparedStatement
    calls: tuple[NumberCall, ...] = ()
    sets: tuple[SetCall, ...] = ()


@dataclass
class NumberReader:
    """Replaces functions of sequences in a tree by parameters."""

    session: SessionState
    tree: exp.Expr
    calls: list[NumberCall] = field(default_factory=list[NumberCall])
    sets: list[SetCall] = field(default_factory=list[SetCall])

    def __post_init__(self) -> None:
        numbers = [int(one.name) for one in self.tree.find_all(exp.Parameter) if one.name.isdigit()]
        self.count = max(numbers, default=0)  # of the client's own parameters

    def read(self) -> None:
        """Replace all calls.

        Raises:
            StatementFailed: 0A000 where a call would run for each of several rows; 42P01.
        """
        self._read_defaults()
        self._read_sets()
        for node in list(self.tree.find_all(exp.Anonymous, bfs=False)):
            function = node.name.lower()
            if _DEFAULT in node.meta:
                node.replace(self._make_parameter(NumberCall("default", node.meta[_DEFAULT])))
            elif function == "lastval" and not node.expressions:
                self._replace(node, NumberCall(function, None))
            elif function in ("nextval", "currval") and len(node.expressions) == 1:
                if function == "nextval" and not _runs_once(node):
                    raise StatementFailed(
                        "0A000",
                        "nextval() is for VALUES and for SELECT without FROM",
                        hint="Give the column a default nextval('sequence'), and leave it out.",
                    )
                key = self._find_sequence(node.expressions[0])
                self._replace(node, NumberCall(function, key))

    def _replace(self, node: exp.Expr, call: NumberCall) -> None:
        value = self._make_parameter(call)
        is_shown = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
        node.replace(exp.alias_(value, call.function, quoted=True) if is_shown else value)

    def _make_parameter(self, call: NumberCall) -> exp.Expr:
        self.calls.append(call)
        number = exp.Literal.number(self.count + len(self.calls))
        return exp.Cast(this=exp.Parameter(this=number), to=exp.DataType.build("BIGINT"))

    def _find_sequence(self, argument: exp.Expr) -> Name:
        while isinstance(argument, (exp.Cast, exp.Paren)):
            argument = argument.this
        if isinstance(argument, exp.Anonymous) and argument.name.lower() == _SERIAL_NAME:
            return self._find_serial(argument)
        if not isinstance(argument, exp.Literal) or not argument.is_string:
            raise StatementFailed("0A000", "the name of a sequence is a literal here")
        authority, role = self.session.authority, self.session.role
        relation = find_relation(authority, role, read_sequence_name(argument.name))
        if relation.kind != "sequence":
            raise StatementFailed("42809", f'"{relation.name}" is not a sequence')
        return relation.key

    def _find_serial(self, call: exp.Anonymous) -> Name:
        names = [one.name for one in call.expressions if isinstance(one, exp.Literal)]
        if len(names) != 2:
            raise StatementFailed("0A000", f"{_SERIAL_NAME}() takes two literals here")
        authority, role = self.session.authority, self.session.role
        table = find_relation(authority, role, read_sequence_name(names[0]))
        found = owned_sequences(authority, table.key, names[1])
        if not found:
            raise StatementFailed("22004", "the column has no sequence")
        return found[0].key

    def _read_defaults(self) -> None:
        """Write out DEFAULT for serial and identity columns in VALUES."""
        source = self.tree.args.get("expression") if isinstance(self.tree, exp.Insert) else None
        if not isinstance(source, exp.Values) or not isinstance(self.tree, exp.Insert):
            return
        columns = _target_columns(self.session, self.tree)
        for row in source.expressions:
            for column, cell in zip(columns, _row_cells(row), strict=False):
                key = default_sequence(column)
                if key is None or not is_default(cell):
                    continue
                if not column.identity:
                    require_usage(self.session, self.session.authority.relations[key], *_NEXT)
                call = exp.Anonymous(this="nextval")
                call.meta[_DEFAULT] = key
                cell.replace(call)

    def _read_sets(self) -> None:
        """Put the number in place of a call of setval, and whether it counts as given at the end."""
        if not isinstance(self.tree, exp.Select):
            return
        for place, item in enumerate(list(self.tree.expressions)):
            call = item.unalias()
            if not isinstance(call, exp.Anonymous) or call.name.lower() != "setval":
                continue
            if len(call.expressions) not in (2, 3):
                raise StatementFailed("42883", "function setval has two or three arguments")
            key, number = self._find_sequence(call.expressions[0]), call.expressions[1]
            called: int | bool = True
            if len(call.expressions) == 3:
                called = len(self.tree.expressions)
                extra = exp.Cast(this=call.expressions[2].copy(), to=exp.DataType.build("BOOLEAN"))
                self.tree.append("expressions", exp.alias_(extra, f"called{place}", quoted=True))
            self.sets.append(SetCall(key, place, called))
            value = exp.Cast(this=number.copy(), to=exp.DataType.build("BIGINT"))
            name = item.alias or "setval"
            self.tree.expressions[place].replace(exp.alias_(value, name, quoted=True))


_DEFAULT = "sequence"  # meta of a call that stands for DEFAULT
_SERIAL_NAME = "pg_get_serial_sequence"
_NEXT = (Privilege.USAGE, Privilege.UPDATE)
_FUNCTIONS = re.compile(r"\b(nextval|currval|lastval|setval)\b|\bdefault\b", re.IGNORECASE)


def _row_cells(row: exp.Expr) -> list[exp.Expr]:
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _target_columns(session: SessionState, tree: exp.Insert) -> list[RelationColumn]:
    """Return the columns that an INSERT names, or all; none where one does not exist."""
    holder = tree.this
    is_listed = isinstance(holder, exp.Schema)
    table = holder.this if is_listed else holder
    written = fold_identifier(table.args.get("db")) or None, fold_identifier(table.this)
    relation = look_up_relation(session.authority, session.role, written)
    if relation is None or not is_listed:
        return list(relation.columns) if relation is not None else []
    names = [
        fold_identifier(item.this if isinstance(item, exp.Column) else item)
        for item in holder.expressions
    ]
    found = [column for name in names if (column := relation.column(name)) is not None]
    return found if len(found) == len(names) else []


def is_overriding(statement: Statement) -> bool:
    """Whether a write says OVERRIDING USER VALUE, which makes values to DEFAULT."""
    return isinstance(statement, Write) and statement.overriding == "user"


def settle_identity(
    session: SessionState, statement: Write
) -> exp.Insert | exp.Update | exp.Delete:
    """Return the tree of a write in which identity columns get what they may get.

    Raises:
        StatementFailed: 428C9, a column GENERATED ALWAYS is given a value.
    """
    tree = statement.tree
    if isinstance(tree, exp.Update):
        _check_identity_sets(session, tree)
    if not isinstance(tree, exp.Insert) or statement.overriding == "system":
        return tree
    columns = _target_columns(session, tree)
    places = {
        place: column
        for place, column in enumerate(columns)
        if column.identity == "always" or (column.identity and statement.overriding)
    }
    if not places or tree.args.get("default"):
        return tree
    if not isinstance(tree.args.get("expression"), exp.Values):
        return _check_selected(tree, places, is_overriding=bool(statement.overriding))
    return _settle_values(tree, places, is_overriding=bool(statement.overriding))


def _check_selected(
    tree: exp.Insert, places: Mapping[int, RelationColumn], *, is_overriding: bool
) -> exp.Insert:
    if is_overriding:
        raise StatementFailed("0A000", "OVERRIDING USER VALUE is for VALUES: leave the column out")
    source = tree.args.get("expression")
    count = len(source.selects) if isinstance(source, exp.Query) else 0
    if isinstance(tree.this, exp.Schema) or min(places) < count:
        raise _not_a_default(places[min(places)])
    return tree


def _settle_values(
    tree: exp.Insert, places: Mapping[int, RelationColumn], *, is_overriding: bool
) -> exp.Insert:
    tree = tree.copy() if is_overriding else tree
    for row in tree.args["expression"].expressions:
        cells = _row_cells(row)
        for place in (place for place in places if place < len(cells)):
            if is_overriding:
                cells[place].replace(exp.var("DEFAULT"))
            elif not is_default(cells[place]):
                raise _not_a_default(places[place])
    return tree


def _not_a_default(column: RelationColumn) -> StatementFailed:
    return StatementFailed(
        "428C9",
        f'cannot insert a non-DEFAULT value into column "{column.name}"',
        detail=f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.',
        hint="Use OVERRIDING SYSTEM VALUE to override.",
    )


def _check_identity_sets(session: SessionState, tree: exp.Update) -> None:
    table = tree.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return
    written = fold_identifier(table.args.get("db")) or None, fold_identifier(table.this)
    relation = look_up_relation(session.authority, session.role, written)
    always = {c.name for c in relation.columns if c.identity == "always"} if relation else set()
    for item in tree.expressions if always else ():
        named = item.this.expressions if isinstance(item.this, exp.Tuple) else [item.this]
        for one in named:
            name = fold_identifier(one.this if isinstance(one, exp.Column) else one)
            if name in always and not is_default(item.expression):
                raise StatementFailed("428C9", f'column "{name}" can only be updated to DEFAULT')


def may_call_sequences(text: str) -> bool:
    """Whether a text may call a function of sequences, or name a default."""
    return _FUNCTIONS.search(text) is not None


def _runs_once(node: exp.Expr) -> bool:
    """Whether an expression is computed once by its statement: outside of FROM and its rows."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Select) and parent.args.get("from_") is not None:
            return False
        if isinstance(parent, (exp.Update, exp.Delete, exp.Case, exp.Coalesce, exp.SetOperation)):
            return False
        parent = parent.parent
    return True


def give_numbers(session: SessionState, plan: NumberPlan) -> tuple[object, ...]:
    """Return the values of a plan's calls, in their order.

    Raises:
        AccessDenied: 42501, the role has no privilege on a sequence.
    """
    given: list[object] = []
    for call in plan.calls:
        key = call.sequence or session.last_sequence
        relation = session.authority.relations.get(key) if key else None
        if relation is None:
            raise StatementFailed("55000", "lastval is not yet defined in this session")
        if call.function in ("nextval", "default"):
            if call.function == "nextval":
                require_usage(session, relation, *_NEXT)
            given.append(take_numbers(session, relation, 1))
        else:
            require_usage(session, relation, Privilege.USAGE, Privilege.SELECT)
            given.append(current_number(session, relation))
    return tuple(given)


def run_sets(session: SessionState, plan: NumberPlan, table: ArrowTable) -> ArrowTable:
    """Set sequences to the numbers of a result, and return it without the columns added for that."""
    for one in plan.sets:
        relation = session.authority.relations[one.sequence]
        require_usage(session, relation, Privilege.UPDATE)
        numbers = table.column(one.place).to_pylist()
        flags: list[bool | None] = (
            [one.called] * len(numbers)
            if isinstance(one.called, bool)
            else table.column(one.called).to_pylist()
        )
        for number, is_called in zip(numbers, flags, strict=True):
            if number is not None and is_called is not None:
                set_number(session, relation, int(number), is_called=bool(is_called))
    kept = table.num_columns - sum(not isinstance(one.called, bool) for one in plan.sets)
    return table.select(list(range(kept)))
