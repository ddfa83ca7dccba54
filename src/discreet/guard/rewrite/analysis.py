"""The state of checking a statement: the sender, the role, and the references so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Name, Subject
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.kinds import UNKNOWN, InferredType, category, data_type, kind_named
from discreet.guard.rewrite.scope import Handles, RangeTableEntry, Scope, ScopeField
from discreet.sql.limits import DEFINITIONS, GROUPED, RELATIONS, SETS
from discreet.sql.temporal import in_zone

HEAVIEST = 10_000  # cells, or hundreds of letters, that one text may consist of
FALLIBLE = "may fail"  # meta of a node that fails for some values
_RESOLVED = "resolved"  # meta of a reference: the properties of its values


@dataclass(frozen=True)
class SelectLevel:
    """One SELECT while it is checked: whether it has aggregates and windows."""

    seen: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class ExpressionContext:
    """The context of an expression: its scope, its clause, and what may be called there."""

    scope: Scope
    clause: str
    level: SelectLevel = field(default_factory=SelectLevel)
    aggregates: bool = False
    windows: bool = False

    def inside_aggregate(self) -> ExpressionContext:
        """Return the context of an aggregate's arguments."""
        return replace(self, aggregates=False, windows=False, clause="aggregate functions")


@dataclass
class StatementSize:
    """The size of one statement, including the views and policies that it reads."""

    relations: int = 0
    nodes: int = 0
    sets: int = 0
    grouped: int = 0

    def relation(self) -> None:
        """Count a part of FROM."""
        self.relations += 1
        if self.relations > RELATIONS:
            raise StatementFailed(
                "54000",
                f"the statement reads more than {RELATIONS} tables",
                hint="Views and row policies that it uses count, too.",
            )

    def grouping(self, sets: int, width: int) -> None:
        """Count the grouping sets of a GROUP BY, and the expressions that they expand to."""
        self.sets += sets
        self.grouped += sets * width
        if self.sets > SETS or self.grouped > GROUPED:
            raise StatementFailed(
                "54001",
                "the statement has too many grouping sets",
                hint=f"CUBE, ROLLUP and GROUPING SETS may stand for {SETS} sets in all.",
            )

    def definition(self, tree: exp.Expr) -> exp.Expr:
        """Count the query of a view or the expression of a policy, and return it."""
        self.nodes += sum(1 for _ in tree.walk())
        if self.nodes > DEFINITIONS:
            raise StatementFailed("54000", "views and row policies of the statement are too large")
        return tree


@dataclass
class StatementAnalysis:
    """One statement, or one view or policy, while it is checked.

    `role` is the role whose privileges apply; `subject` is the sender, whom current_user returns.
    `invoker` is the role whose privileges apply in the statement itself, and again in every
    `security_invoker` view at any depth. `is_stored`: the text was defined earlier, when USAGE of
    schemas was checked. `trail` are the relations whose views and policies are being checked,
    outermost first. `passing` is the session state, besides its user, that became part of the
    statement: the time, or settings.
    """

    authority: Authority
    subject: Subject
    role: str
    traits: EngineTraits = field(default_factory=EngineTraits)
    declared: Sequence[str | None] = ()
    handles: Handles = field(default_factory=Handles)
    entries: list[RangeTableEntry] = field(default_factory=list[RangeTableEntry])
    inferred: dict[int, str] = field(default_factory=dict[int, str])
    highest: int = 0
    has_parameters: bool = True
    invoker: str = ""
    is_stored: bool = False
    trail: tuple[tuple[str, Name], ...] = ()
    passing: set[str] = field(default_factory=set[str])  # shared by views and policies
    work: StatementSize = field(default_factory=StatementSize)  # shared by views and policies

    def __post_init__(self) -> None:
        self.invoker = self.invoker or self.role

    def stored(self, role: str, step: tuple[str, Name]) -> StatementAnalysis:
        """Return the state for a view, policy or mask inside this one, with privileges of `role`."""
        return replace(
            self,
            role=role,
            entries=[],
            has_parameters=False,
            is_stored=True,
            trail=(*self.trail, step),
        )

    def is_lenient(self) -> bool:
        """Whether a double-quoted word that is not a column is a string."""
        return self.subject.settings.get("discreet.lenient", "").lower() in (
            "on",
            "true",
            "1",
            "yes",
        )

    def parameter(self, number: int) -> str:
        """Return the kind of a parameter as far as it is known."""
        if not self.has_parameters or not 1 <= number <= 65535:
            raise StatementFailed("42P02", f"there is no parameter ${number}")
        self.highest = max(self.highest, number)
        declared = self.declared[number - 1] if number <= len(self.declared) else None
        if declared:
            return kind_named(declared) or declared
        return self.inferred.get(number, UNKNOWN)

    def parameters(self) -> tuple[str, ...]:
        """Return the kinds of all parameters; undetermined ones are texts."""
        count = max(self.highest, len(self.declared))
        kinds = [self.parameter(number) for number in range(1, count + 1)]
        return tuple("text" if kind == UNKNOWN else kind for kind in kinds)


Rule: TypeAlias = Callable[[StatementAnalysis, exp.Expr, ExpressionContext], InferredType]
RULES: dict[type[exp.Expr], Rule] = {}
QueryRule: TypeAlias = Callable[[StatementAnalysis, exp.Expr, Scope], list[ScopeField]]
QUERY_RULES: dict[type[exp.Expr], QueryRule] = {}
_QueryRule = TypeVar("_QueryRule", bound=QueryRule)


def rule(*classes: type[exp.Expr]) -> Callable[[Rule], Rule]:
    """Register the check of some classes of nodes."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(classes, function))
        return function

    return register


def query_rule(*classes: type[exp.Expr]) -> Callable[[_QueryRule], _QueryRule]:
    """Register the check of some classes of queries."""

    def register(function: _QueryRule) -> _QueryRule:
        QUERY_RULES.update(dict.fromkeys(classes, function))
        return function

    return register


def read_subquery(reading: StatementAnalysis, tree: exp.Expr, scope: Scope) -> list[ScopeField]:
    """Check a query inside another one or an expression, and return its columns."""
    found = QUERY_RULES.get(type(tree))
    if found is None:
        raise unsupported_feature("This query")
    return found(reading, tree, scope)


def infer_type(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    """Check an expression: resolve its names, and return the properties of its values."""
    if _RESOLVED in node.meta:
        return node.meta[_RESOLVED]
    found = RULES.get(type(node))
    if found is None:
        raise unsupported_feature(f"{type(node).__name__.upper()} in an expression")
    result = found(reading, node, place)
    if result.weight > HEAVIEST:
        raise StatementFailed("54000", "a text of the statement could grow too long")
    return result


def settle_literal(reading: StatementAnalysis, node: exp.Expr, kind: str | None) -> None:
    """Give an untyped literal, NULL or parameter the kind that its context needs."""
    while isinstance(node, exp.Paren):
        node = node.this
    if kind is None or kind == UNKNOWN:
        return
    if isinstance(node, exp.Parameter):
        reading.inferred.setdefault(int(node.name), kind)
    elif isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.is_string):
        place_moment(reading, node, kind)
        is_text = category(kind) == "S" and isinstance(node, exp.Literal)  # as it is
        if category(kind) is not None and not is_text:
            node.replace(exp.Cast(this=node.copy(), to=data_type(kind)))


def place_moment(reading: StatementAnalysis, node: exp.Expr, kind: str) -> None:
    """Interpret a timestamp without zone in the session's time zone, if the user wrote it.

    Views and policies mean the same for all users: there it is UTC, whatever the session's setting.
    """
    if kind == "timestamptz" and isinstance(node, exp.Literal) and reading.has_parameters:
        reading.passing.add("timezone")
        node.set("this", in_zone(node.name, reading.subject.settings.get("timezone", "UTC")))


def require_arrays(reading: StatementAnalysis) -> None:
    """Refuse arrays where the engine has none."""
    if not reading.traits.has_arrays:
        raise unsupported_feature("An array")


def mark_fallible(node: exp.Expr) -> None:
    """Mark a node that fails for some values."""
    node.meta[FALLIBLE] = True


def mark_resolved(reference: exp.Expr, item: ScopeField) -> exp.Expr:
    """Return a reference that is not checked again."""
    reference.meta[_RESOLVED] = InferredType(item.kind, item.weight)
    return reference
