"""A table of people and tables with several rows of each, such as patients and visits, counted together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.sources import join_rows, scan_table
from discreet.engines.engine import Kind
from discreet.errors import Bug, QuestionRefused
from discreet.policy.answer_model import ContributionLimits
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.answer.catalog import Catalog, CatalogTable
    from discreet.answer.rows import Rows

_UNIT, _NUMBER = "discreet_parent", "discreet_children"


@dataclass(frozen=True)
class TableFamily:
    """A parent table and its child tables, all of whose rows belong to the parent's unit.

    Rows of a child table belong to the parent's unit by their own unit, or to rows of another child table by
    a key of these, such as prescriptions of visits of patients. Then `owners` has the place of that table, 0
    being the parent's.

    Guarantee: a unit with all its rows in all tables changes each marginal of `parent_rows` by at most
    the parent's `rows-per-unit`, and each marginal of `child_rows` by at most `most_rows`, since no
    other unit's rows, numbers of children or factors depend on it. A row of a third level belongs to every unit
    that has a row with its key. Where keys of the second level are unique, as much noise covers all rows of
    one key of the third level, which is the unit of that table's own budget.
    """

    parent: CatalogTable
    children: tuple[CatalogTable, ...]
    owners: tuple[int, ...]

    def most_children(self, child: CatalogTable) -> int:
        """Return how many rows of one row of its owner count at most in a child table."""
        most = child.policy.limits.rows_per_unit if child.policy else None
        if most is None:
            raise QuestionRefused(
                f"A {'row of another table' if self._owner_place(child) else 'person'} may have any number of rows in "
                f"'{child.name}'. Add `limits: {{rows-per-unit: 10}}` to it in the policy: so many rows of each parent "
                "are synthesized at most."
            )
        return most

    def most_rows(self, child: CatalogTable) -> int:
        """Return how many rows of a unit in a child table count at most: of each row of its owner so many."""
        owner = self._owner_place(child)
        above = self.most_rows(self.children[owner - 1]) if owner else 1
        return self.most_children(child) * above

    def key_of_owner(self, child: CatalogTable) -> str:
        """Return the column that rows of a child table refer to."""
        said = child.policy.column(child.unit) if child.policy and child.unit else None
        if said is None or said.references is None:
            raise Bug("The rows of a child table refer to no other table.")
        return said.references[1]

    def parent_rows(self) -> Rows:
        """Return the rows of the parent table, with how many rows each has in each child table."""
        rows = scan_table(self.parent, self.parent.name)
        return self._count_children(rows, self.parent)

    def child_rows(self, child: CatalogTable) -> Rows:
        """Return the rows of a child table, each with those that it belongs to, and how many belong to it."""
        rows, held, owner = scan_table(child, child.name), child, self._owner_place(child)
        if owner:
            middle = self.children[owner - 1]
            # Its unit is a row of the other table: whose that is, only the join knows.
            rows = join_rows(
                replace(rows, unit=(), forms=()),
                scan_table(middle, middle.name),
                side="",
                on=_match_columns(child, middle, self.key_of_owner(child)),
            )
            held = middle
        on = _match_columns(held, self.parent, self.parent.unit or "")
        rows = join_rows(rows, scan_table(self.parent, self.parent.name), side="", on=on)
        most = self.most_rows(child)
        rows = replace(rows, limits=ContributionLimits(rows_per_unit=most))
        if most == 1 and self._list_below(child):
            # All rows of one key of a table below move their row from one number to another: two changes.
            rows = replace(rows, has_children=True, fan=2)
        return self._count_children(rows, child)

    def _owner_place(self, child: CatalogTable) -> int:
        return self.owners[self.children.index(child)]

    def _list_below(self, owner: CatalogTable) -> list[CatalogTable]:
        """Return the tables whose rows belong to those of a table."""
        place = 0 if owner is self.parent else self.children.index(owner) + 1
        return [child for child in self.children if self._owner_place(child) == place]

    def _count_children(self, rows: Rows, owner: CatalogTable) -> Rows:
        """Return rows with how many rows those of a table have in each table below it."""
        frame, scope, touches = rows.frame.copy(), dict(rows.scope), list(rows.touches)
        for child in self._list_below(owner):
            theirs, alias = scan_table(child, child.name), _children_alias(child)
            (unit,) = theirs.unit
            number = build.alias_as(build.count_star(), _NUMBER)
            counted = theirs.frame.select(build.alias_as(unit.copy(), _UNIT), number, copy=True)
            counted = counted.group_by(unit.copy(), copy=False)
            key = build.column(self.key_of_owner(child), of=owner.name)
            on = exp.EQ(this=key, expression=build.column(_UNIT, of=alias))
            frame.append("joins", exp.Join(this=build.subquery(counted, alias), on=on, side="LEFT"))
            typed = TypedExpression(build.column(_NUMBER, of=alias), Kind.INTEGER)
            scope[alias] = {_NUMBER: typed}
            touches += theirs.touches
        return replace(rows, frame=frame, scope=scope, touches=tuple(touches))

    def children_code(
        self, child: CatalogTable
    ) -> tuple[exp.Column, Callable[[exp.Expr], exp.Expr], int]:
        """Return the column of its owner's rows for the number of rows in a child table, with its codes."""
        most = self.most_children(child)

        def code(number: exp.Expr) -> exp.Expr:
            none = exp.If(this=build.is_null(number.copy()), true=build.number(0))
            above = exp.GT(this=number.copy(), expression=build.number(most))
            many = exp.If(this=above, true=build.number(most))
            return exp.Case(ifs=[none, many], default=number.copy())

        return build.column(_NUMBER, of=_children_alias(child)), code, most + 1


def _match_columns(child: CatalogTable, owner: CatalogTable, key: str) -> exp.EQ:
    return exp.EQ(
        this=build.column(child.unit or "", of=child.name),
        expression=build.column(key, of=owner.name),
    )


def find_family(catalog: Catalog, parent: str, children: Sequence[str]) -> TableFamily:
    """Return the tables as a family; no row is read.

    Raises:
        QuestionRefused: A child table's unit is no foreign key to the parent's or to a key of another child table,
            units are periods, or there are more than three levels.
    """
    held = catalog.find(parent)
    if held.unit is None or (held.policy is not None and held.policy.unit_period is not None):
        raise QuestionRefused(
            f"'{held.name}' needs a `unit:` that is a column, without a period: its rows have children by it."
        )
    found = [catalog.find(name) for name in children]
    direct = [child for child in found if _find_owner(child, held, found) is held]
    others = [child for child in found if child not in direct]
    owners = [direct.index(_find_owner(child, held, direct)) + 1 for child in others]
    family = TableFamily(held, (*direct, *others), (*(0 for _ in direct), *owners))
    for child in family.children:
        family.child_rows(child)  # refused where a bound is missing, or ids are of different kinds
    return family


def _find_owner(
    child: CatalogTable, parent: CatalogTable, others: Sequence[CatalogTable]
) -> CatalogTable:
    """Return the table that the rows of a child table belong to: the parent, or one of `others`."""
    said = child.policy.column(child.unit) if child.policy and child.unit else None
    is_periodic = child.policy is not None and child.policy.unit_period is not None
    between = None if said is None or said.references is None else said.references
    if said is not None and not is_periodic and between == (parent.name, parent.unit):
        return parent
    if between is None or is_periodic or between[0] == parent.name:
        raise QuestionRefused(
            f"The rows of '{child.name}' must belong to the people of '{parent.name}'. In its policy let `unit:` "
            f"name the column that refers to them, and give that column `references: {parent.name}.{parent.unit}`."
        )
    for owner in others:
        if owner is not child and owner.name == between[0] and between[1] != owner.unit:
            return owner
    raise QuestionRefused(
        f"The rows of '{child.name}' belong to rows of '{between[0]}', by '{between[1]}'. These must be rows of the people of "
        f"'{parent.name}', synthesized together with them (`--with {between[0]}`), and '{between[1]}' their key. Three levels of "
        f"tables are the most. Or make a view or a file of '{child.name}' that also has the column of '{between[0]}' "
        f"which refers to the people, and let `unit:` name that column, with `references: {parent.name}.{parent.unit}`."
    )


def _children_alias(child: CatalogTable) -> str:
    return f"discreet_children_{child.name}"
