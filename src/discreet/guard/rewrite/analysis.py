"""What is known while a statement is read: who asks, as whom, and what was referred to so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Name, Subject
from discreet.guard.rewrite.allowed import unsupported_feature
from discreet.guard.rewrite.kinds import UNKNOWN, InferredType, category, data_type, kind_named
from discreet.guard.rewrite.literals import in_zone
from discreet.guard.rewrite.scope import Handles, RangeTableEntry, Scope, ScopeField
from discreet.guard.statements.limits import DEFINITIONS, GROUPED, RELATIONS, SETS

HEAVIEST = 10_000  # how many cells, or hundreds of letters, one text may be made of
FALLIBLE = "may fail"  # meta of a node that fails for some values
_RESOLVED = "resolved"  # meta of a reference: what is known of its values


@dataclass(frozen=True)
class SelectLevel:
    """One SELECT while its parts are read: whether aggregates and windows were seen in it."""

    seen: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class ExpressionContext:
    """Where an expression stands: what it sees, the clause it is in, and what may be called there."""

    scope: Scope
    clause: str
    level: SelectLevel = field(default_factory=SelectLevel)
    aggregates: bool = False
    windows: bool = False

    def inside_aggregate(self) -> ExpressionContext:
        """Return the place of an aggregate's arguments."""
        return replace(self, aggregates=False, windows=False, clause="aggregate functions")


@dataclass
class StatementSize:
    """How much one statement became, with the views and policies that it reads."""

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
        """Count the grouping sets of a GROUP BY, and the expressions that they are written out with."""
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
    """One statement, or one view or policy, as it is read.

    `role` is whose rights count here; `subject` is who asks, which is what current_user tells.
    `invoker` is whose rights count in the statement itself, and again in every `security_invoker` view,
    however deep it lies in views of others. `is_stored` says that what is read was defined earlier:
    USAGE of schemas was needed then. `trail` are the relations whose views and policies are being read,
    outermost first. `passing` is what of the session, beside who it is, became part of the statement:
    the time, or settings.
    """

    authority: Authority
    subject: Subject
    role: str
    dialect: str
    declared: Sequence[str | None] = ()
    handles: Handles = field(default_factory=Handles)
    entries: list[RangeTableEntry] = field(default_factory=list[RangeTableEntry])
    inferred: dict[int, str] = field(default_factory=dict[int, str])
    highest: int = 0
    has_parameters: bool = True
    invoker: str = ""
    is_stored: bool = False
    trail: tuple[tuple[str, Name], ...] = ()
    passing: set[str] = field(
        default_factory=set[str]
    )  # what was told that may change: one for all
    work: StatementSize = field(
        default_factory=StatementSize
    )  # of views and policies, too: one for all

    def __post_init__(self) -> None:
        self.invoker = self.invoker or self.role

    def stored(self, role: str, step: tuple[str, Name]) -> StatementAnalysis:
        """Return how a view, policy or mask that is part of this is read: with the rights of `role`."""
        return replace(
            self,
            role=role,
            entries=[],
            has_parameters=False,
            is_stored=True,
            trail=(*self.trail, step),
        )

    def query(self, tree: exp.Expr, scope: Scope) -> list[ScopeField]:
        """Read a query that stands in an expression and return its columns."""
        from discreet.guard.rewrite.queries import read_finished

        return read_finished(self, tree, scope)

    def is_lenient(self) -> bool:
        """Whether a double-quoted word that is no column is a string."""
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
        """Return the kinds of all parameters; those that nothing tells are texts."""
        count = max(self.highest, len(self.declared))
        kinds = [self.parameter(number) for number in range(1, count + 1)]
        return tuple("text" if kind == UNKNOWN else kind for kind in kinds)


Rule: TypeAlias = Callable[[StatementAnalysis, exp.Expr, ExpressionContext], InferredType]
RULES: dict[type[exp.Expr], Rule] = {}


def rule(*classes: type[exp.Expr]) -> Callable[[Rule], Rule]:
    """Register how nodes of some classes are read."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(classes, function))
        return function

    return register


def infer_type(
    reading: StatementAnalysis, node: exp.Expr, place: ExpressionContext
) -> InferredType:
    """Read an expression: names become references, and what is known of its values is returned."""
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
    """Give a literal, NULL or a parameter without a type the kind that its place needs."""
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
    """Read a moment that does not say where in the session's time zone, if the user wrote it.

    Views and policies mean the same for everybody: there it is UTC, whatever a reader has set.
    """
    if kind == "timestamptz" and isinstance(node, exp.Literal) and reading.has_parameters:
        reading.passing.add("timezone")
        node.set("this", in_zone(node.name, reading.subject.settings.get("timezone", "UTC")))


def mark_fallible(node: exp.Expr) -> None:
    """Mark a node that fails for some values."""
    node.meta[FALLIBLE] = True


def mark_resolved(reference: exp.Expr, item: ScopeField) -> exp.Expr:
    """Return a reference that is not read again."""
    reference.meta[_RESOLVED] = InferredType(item.kind, item.weight)
    return reference
