"""A table of people and tables with several rows of each, such as patients and visits, counted together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.sources import join_rows, scan_table
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.policy.answer_model import ContributionLimits
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import Catalog, CatalogTable
    from discreet.answer.rows import Rows

_UNIT, _NUMBER = "discreet_parent", "discreet_children"


@dataclass(frozen=True)
class TableFamily:
    """A parent table and its child tables, all of whose rows belong to the parent's unit.

    Guarantee: a unit with all its rows in all tables changes each marginal of `parent_rows` by at most
    the parent's `rows-per-unit`, and each marginal of `child_rows` by at most that of the child table,
    since no other unit's rows, numbers of children or factors depend on it.
    """

    parent: CatalogTable
    children: tuple[CatalogTable, ...]

    def most_children(self, child: CatalogTable) -> int:
        """Return how many rows of a unit in a child table count at most."""
        most = child.policy.limits.rows_per_unit if child.policy else None
        if most is None:
            raise QuestionRefused(
                f"A person may have any number of rows in '{child.name}'. Add `limits: {{rows-per-unit: 10}}` to "
                "it in the policy: so many rows of each parent are synthesized at most."
            )
        return most

    def parent_rows(self) -> Rows:
        """Return the rows of the parent table, with how many rows each has in each child table."""
        rows = scan_table(self.parent, self.parent.name)
        frame, scope, touches = rows.frame.copy(), dict(rows.scope), list(rows.touches)
        for child in self.children:
            theirs, alias = scan_table(child, child.name), _children_alias(child)
            (unit,) = theirs.unit
            number = build.alias_as(build.count_star(), _NUMBER)
            counted = theirs.frame.select(build.alias_as(unit.copy(), _UNIT), number, copy=True)
            counted = counted.group_by(unit.copy(), copy=False)
            on = exp.EQ(this=rows.unit[0].copy(), expression=build.column(_UNIT, of=alias))
            frame.append("joins", exp.Join(this=build.subquery(counted, alias), on=on, side="LEFT"))
            typed = TypedExpression(build.column(_NUMBER, of=alias), Kind.INTEGER)
            scope[alias] = {_NUMBER: typed}
            touches += theirs.touches
        return replace(rows, frame=frame, scope=scope, touches=tuple(touches))

    def child_rows(self, child: CatalogTable) -> Rows:
        """Return the rows of a child table, each with its parent's."""
        own = scan_table(child, child.name)
        on = exp.EQ(
            this=build.column(child.unit or "", of=child.name),
            expression=build.column(self.parent.unit or "", of=self.parent.name),
        )
        joined = join_rows(own, scan_table(self.parent, self.parent.name), side="", on=on)
        most = self.most_children(child)
        return replace(joined, limits=ContributionLimits(rows_per_unit=most))

    def children_code(
        self, child: CatalogTable
    ) -> tuple[exp.Column, Callable[[exp.Expr], exp.Expr], int]:
        """Return the column of `parent_rows` for the number of rows in a child table, with its codes."""
        most = self.most_children(child)

        def code(number: exp.Expr) -> exp.Expr:
            none = exp.If(this=build.is_null(number.copy()), true=build.number(0))
            above = exp.GT(this=number.copy(), expression=build.number(most))
            many = exp.If(this=above, true=build.number(most))
            return exp.Case(ifs=[none, many], default=number.copy())

        return build.column(_NUMBER, of=_children_alias(child)), code, most + 1


def find_family(catalog: Catalog, parent: str, children: Sequence[str]) -> TableFamily:
    """Return the tables as a family; no row is read.

    Raises:
        QuestionRefused: A child table's unit is no foreign key to the parent's, or units are periods.
    """
    held = catalog.find(parent)
    found = TableFamily(held, tuple(catalog.find(name) for name in children))
    if held.unit is None or (held.policy is not None and held.policy.unit_period is not None):
        raise QuestionRefused(
            f"'{held.name}' needs a `unit:` that is a column, without a period: its rows have children by it."
        )
    for child in found.children:
        said = child.policy.column(child.unit) if child.policy and child.unit else None
        is_periodic = child.policy is not None and child.policy.unit_period is not None
        between = None if said is None or said.references is None else said.references[0]
        if between is not None and between != held.name:
            raise QuestionRefused(
                f"The rows of '{child.name}' belong to rows of '{between}', and those of a child table must belong to "
                f"the people of '{held.name}'. Make a view or a file of '{child.name}' that also has the column of "
                f"'{between}' which refers to them, let `unit:` name that column, with `references: "
                f"{held.name}.{held.unit}`, and leave out the reference to '{between}'."
            )
        if said is None or is_periodic or said.references != (held.name, held.unit):
            raise QuestionRefused(
                f"The rows of '{child.name}' must belong to the people of '{held.name}'. In its policy let `unit:` "
                f"name the column that refers to them, and give that column `references: {held.name}.{held.unit}`."
            )
        found.most_children(child)
        found.child_rows(child)  # refused where ids are of different kinds
    return found


def _children_alias(child: CatalogTable) -> str:
    return f"discreet_children_{child.name}"
