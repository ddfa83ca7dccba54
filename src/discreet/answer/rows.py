"""Rows of people before aggregation: their tables and their unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.numbers import to_real
from discreet.answer.expressions.typed import TypedExpression
from discreet.engines.engine import Kind
from discreet.errors import InvalidQuestion, UndeclaredKind, did_you_mean
from discreet.policy.answer_model import ContributionLimits
from discreet.sql import build
from discreet.sql.names import find_in_scopes

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable

# What the custodian can do; the same words whether or not something was drafted from the data.
DECLARE_BOUNDS = (
    "In the policy write `bounds: {public: [low, high]}` with numbers that are known without the data "
    "(where `init` wrote `drafted`, check the numbers and change that word to `public`), or "
    "`bounds: private` to have them found for a share of epsilon."
)
Range = tuple[Fraction | None, Fraction | None]
Place = tuple[str, str]  # alias of a table and name of a column


@dataclass(frozen=True)
class TouchedTable:
    """A protected table that rows come from, and the parts of it that they can lie in (None: all).

    `alias` is what it is called in the SELECT that reads it, None everywhere else.
    """

    held: CatalogTable
    alias: str | None = None
    cells: frozenset[str] | None = None


@dataclass(frozen=True)
class Rows:
    """A selection of rows before aggregation.

    `unit` identifies the person of a row, in one of the `forms` that identify people exactly; when
    empty, each row is a person. A row of a protected table may appear in `fan` rows; where a unit
    bounds them, 2 stands for any larger number.
    `bounds` are public limits that numbers are clamped to before they are summed. `rank` numbers
    the rows of each unit by chance. `is_single`: each unit has one row at most.
    `has_children`: some rows are also protected one by one, by a table whose rows are
    people of their own.
    """

    frame: exp.Select
    scope: Mapping[str, Mapping[str, TypedExpression]]
    unit: tuple[exp.Expr, ...] = ()
    forms: tuple[str, ...] = ()
    touches: tuple[TouchedTable, ...] = ()
    limits: ContributionLimits = field(default_factory=ContributionLimits)
    bounds: Mapping[Place, Range] = field(default_factory=dict[Place, Range])
    fan: int = 1
    rank: exp.Expr | None = None
    is_single: bool = False
    has_children: bool = False
    same: tuple[exp.Expr, ...] = ()  # columns that hold the unit too, under names of their own
    publics: Mapping[str, CatalogTable] = field(
        default_factory=dict[str, "CatalogTable"]
    )  # by alias
    hidden: frozenset[Place] = frozenset()  # columns that USING made one with others

    @property
    def is_public(self) -> bool:
        """Whether the rows are of public tables only."""
        return not self.touches

    def place(self, column: exp.Column) -> Place:
        """Return which table's column is meant."""
        name, alias = column.name, column.table
        if alias:
            known = {key.casefold(): key for key in self.scope}
            if alias.casefold() not in known:
                raise InvalidQuestion(
                    f"There is no table '{alias}' here.{did_you_mean(alias, self.scope)}"
                )
            aliases = [known[alias.casefold()]]
        else:
            aliases = list(self.scope)
        found = find_in_scopes(
            [[(key, known) for key in aliases for known in self.scope[key]]],
            lambda place: (
                place[1].casefold() == name.casefold() and (bool(alias) or place not in self.hidden)
            ),
            lambda several: _ambiguous_column(name, several),
        )
        if found is None:
            self._refuse_undeclared(name, aliases)
            columns = [known for key in aliases for known in self.scope[key]]
            raise InvalidQuestion(f"There is no column '{name}'.{did_you_mean(name, columns)}")
        return found

    def describe_column(self, column: exp.Column) -> str:
        """Return the name of a column, and its line in the policy."""
        alias, name = self.place(column)
        held = next((touch.held for touch in self.touches if touch.alias == alias), None)
        declared = held.policy.column(name) if held and held.policy else None
        line = f" (line {declared.line} of the policy)" if declared and declared.line else ""
        return f"'{name}'{line}"

    def _refuse_undeclared(self, name: str, aliases: list[str]) -> None:
        """Refuse a column of a file that the policy gives no kind, whether or not it is there."""
        for touch in self.touches:
            held = touch.held
            if touch.alias not in aliases or held.table.schema is None:
                continue
            column = held.policy.column(name) if held.policy else None
            is_slip = column is None and "Did you mean" in did_you_mean(
                name, self.scope[touch.alias]
            )
            if is_slip or (column is not None and column.kind is not None):
                continue
            if held.policy is not None:
                raise UndeclaredKind(
                    f"The policy does not say what column '{name}' of '{held.name}' holds, so "
                    f"that it cannot be asked about. Give it a `kind:`, such as "
                    f"`{name}: {{role: sensitive, kind: integer}}`."
                )
            if held.table.undeclared is None:  # whose records may have got it since
                raise UndeclaredKind(
                    f"'{held.name}' had no field '{name}' when its fields were drafted, and later records "
                    "do not change that. Draft a policy with `discreet init`, check that it gives the "
                    "field its `kind:`, and ask with --policy."
                )

    def resolve(self, column: exp.Column) -> TypedExpression:
        """Return the column as it is."""
        alias, name = self.place(column)
        return self.scope[alias][name]

    def resolve_clamped(self, column: exp.Column) -> TypedExpression:
        """Return the column within its bounds, if it has any."""
        alias, name = place = self.place(column)
        typed = self.scope[alias][name]
        low, high = self.bounds.get(place, (None, None))
        if low is None or high is None or not typed.kind.is_number:
            return typed
        # A decimal of PostgreSQL may be too large for a double, which would be an error.
        return clamp_number(to_real(typed) if typed.kind is Kind.DECIMAL else typed, low, high)

    def qualified(self, tree: exp.Expr) -> exp.Expr:
        """Return `tree` with every column's table and name spelled as they are."""

        def spell(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                alias, name = self.place(node)
                return build.column(name, of=alias)
            return node

        return tree.transform(spell)

    def is_unit(self, tree: exp.Expr) -> bool:
        """Whether `tree`, resolved, is the unit."""
        return len(self.unit) == 1 and (tree == self.unit[0] or tree in self.same)

    def names_unit(self, written: exp.Expr) -> bool:
        """Whether `written` is a column that holds the unit."""
        return isinstance(written, exp.Column) and self.is_unit(self.resolve(written).tree)

    def where(self, condition: exp.Expr) -> Rows:
        """Return those rows for which `condition`, already made total, is true."""
        return replace(self, frame=self.frame.where(condition, copy=True))


def clamp_number(typed: TypedExpression, low: Fraction, high: Fraction) -> TypedExpression:
    """Return `typed` within [`low`, `high`]: beyond a bound it is the bound, NULL and NaN are NULL.

    A CASE, because LEAST and GREATEST pass over NULL, which would become a bound.
    """
    tree = typed.tree
    ifs: list[exp.Expr] = []
    if typed.kind is Kind.REAL:
        nan = exp.cast(build.text("NaN"), exp.DataType.Type.DOUBLE)
        ifs.append(exp.If(this=exp.EQ(this=tree.copy(), expression=nan), true=exp.Null()))
    for test, bound in ((exp.LT, low), (exp.GT, high)):
        limit = number_constant(bound, typed.kind)
        ifs.append(exp.If(this=test(this=tree.copy(), expression=limit.copy()), true=limit.copy()))
    tree = exp.Case(ifs=ifs, default=tree.copy())
    return replace(typed, tree=tree, low=low, high=high, nullable=True)


def number_constant(value: Fraction, kind: Kind = Kind.REAL) -> exp.Expr:
    """Return a number as SQL: whole where the column is, otherwise a double."""
    if kind is Kind.INTEGER and value.denominator == 1:
        return _apply_sign(exp.Literal.number(abs(value.numerator)), is_negative=value < 0)
    number = exp.cast(
        build.text(repr(abs(float(value)))),
        exp.DataType.Type.DOUBLE,
    )
    return _apply_sign(number, is_negative=value < 0)


def _apply_sign(tree: exp.Expr, *, is_negative: bool) -> exp.Expr:
    return exp.Paren(this=exp.Neg(this=tree)) if is_negative else tree


def join_limits(first: ContributionLimits, second: ContributionLimits) -> ContributionLimits:
    """Return what a unit may contribute to a join: each of its rows here with each of its rows there."""

    def product(left: int | None, right: int | None) -> int | None:
        return left * right if left is not None and right is not None else left or right

    groups = [g for g in (first.groups_per_unit, second.groups_per_unit) if g is not None]
    return ContributionLimits(
        rows_per_unit=product(first.rows_per_unit, second.rows_per_unit),
        groups_per_unit=max(groups, default=None),
        rows_per_group=product(first.rows_per_group, second.rows_per_group),
    )


def _ambiguous_column(name: str, places: Sequence[Place]) -> InvalidQuestion:
    tables = ", ".join(f"'{alias}'" for alias, _ in places)
    return InvalidQuestion(
        f"Column '{name}' is in several tables: {tables}. Write the table before it."
    )
