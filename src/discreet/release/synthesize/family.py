"""Tables of people and of what each has several of, such as patients and visits, synthesized together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator as Chance
from numpy.typing import NDArray

from discreet.dp.spending import ZcdpSpending, divide_budget
from discreet.engines.engine import ArrowTable
from discreet.errors import WrongUsage
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.model import SyntheticModel
from discreet.release.synthesize.model_file import MOST_CELLS
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import Counter, FitSettings, fit_model
from discreet.release.synthesize.rules import Rows, Rule, shift_rule


class BudgetMaker(Protocol):
    """Makes the budget of one table's counts, of a part of the whole amount."""

    def __call__(self, amount: Fraction, counter: Any) -> ZcdpSpending:
        """Return what the looks of `counter` are paid from."""
        ...


@dataclass(frozen=True)
class TableShape:
    """What is public about the columns of one table of a family, and the rules among them."""

    columns: tuple[ColumnShape, ...]
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class FamilyTarget:
    """A column that others are to predict: its place in its table, and that of the table, the parent's being 0."""

    table: int
    column: int

    def fitted(self, given: int) -> int:
        """Return its place among the columns that its table is fitted with, after `given` of the parent's."""
        return given + self.column if self.table else self.column


@dataclass(frozen=True)
class ChildRows:
    """Rows of a child table, and the place of each one's parent."""

    rows: Rows
    parents: NDArray[np.int64]


@dataclass(frozen=True)
class FamilyRows:
    """Rows of the parent table, and of each child table."""

    parents: Rows
    children: tuple[ChildRows, ...]

    def decode(
        self, parent: TableDomain, children: Sequence[TableDomain], chance: Chance
    ) -> list[ArrowTable]:
        """Return Arrow tables of the parent and of each child table.

        Guarantee: the key that each child row refers to is that of one row of the parent table.
        """
        tables = [parent.decode(self.parents, chance, units=np.arange(len(self.parents)))]
        for domain, child in zip(children, self.children, strict=True):
            tables.append(domain.decode(child.rows, chance, units=child.parents))
        return tables


@dataclass(frozen=True)
class FamilyModel:
    """A model of a parent table with the numbers of children, and of each child given its parent.

    Attributes:
        parent: Of the parent's columns, and of how many rows it has in each child table.
        children: Of the parent's columns and those of a child table, for each child table.
        given: How many columns the parent has.
    """

    parent: SyntheticModel
    children: tuple[SyntheticModel, ...]
    given: int

    def sample(self, count: int, chance: Chance) -> FamilyRows:
        """Return `count` parents and all their children.

        Guarantee: every child has a parent, and every parent as many children as were drawn for it.

        Raises:
            WrongUsage: These are more children than memory may hold.
        """
        drawn = self.parent.sample(count, chance)
        parents = drawn[:, : self.given]
        children: list[ChildRows] = []
        for place, model in enumerate(self.children):
            numbers = drawn[:, self.given + place]
            _require_memory(int(numbers.sum()), len(model.rules.sizes))
            owners = np.repeat(np.arange(count), numbers)
            rows = model.sample_given(parents[owners], chance)
            children.append(ChildRows(rows[:, self.given :], owners))
        return FamilyRows(parents, tuple(children))

    def to_content(self) -> dict[str, Any]:
        """Return what a file needs to hold, as JSON can write it."""
        return {
            "parent": self.parent.to_content(),
            "children": [one.to_content() for one in self.children],
            "given": self.given,
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> FamilyModel:
        """Return the model that `to_content` wrote."""
        return FamilyModel(
            SyntheticModel.from_content(content["parent"]),
            tuple(SyntheticModel.from_content(one) for one in content["children"]),
            int(content["given"]),
        )


def _require_memory(children: int, columns: int) -> None:
    if children * columns > MOST_CELLS:
        raise WrongUsage(
            f"{children:,} rows of a child table are too many to draw at once. Ask for fewer parents with --rows, "
            "and draw more from the saved model with `discreet sample`, each time into another folder."
        )


def divide_family_budget(amount: Fraction, children: int) -> list[Fraction]:
    """Return the parent's share and that of each child table.

    >>> divide_family_budget(Fraction(1), 2)
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    return divide_budget(amount, [1.0] + [1 / children] * children)


def fit_family(
    counters: Sequence[Counter],
    parent: TableShape,
    children: Sequence[tuple[TableShape, int]],
    amount: Fraction,
    make_budget: BudgetMaker,
    *,
    settings: FitSettings,
    chance: Chance,
    target: FamilyTarget | None = None,
) -> FamilyModel:
    """Return the model of a family of tables, measured within `amount`.

    Half of it is for the parent, the rest for its child tables alike. Rules of a child table are about its
    own columns.

    Args:
        counters: Of the parent's columns and numbers of children; then, for each child table, of the
            parent's columns and its own.
        parent: The parent table.
        children: Each child table, and how many rows of one parent count at most.
        amount: What may be spent: a rho, or an epsilon without delta.
        make_budget: Makes the budget of each table.
        settings: How tables are fitted.
        chance: Randomness that needs no protection.
        target: The column that others are to predict.
    """
    given = len(parent.columns)
    numbers = [ColumnShape(most + 1, is_ordered=True) for _, most in children]
    shapes = [TableShape((*parent.columns, *numbers), parent.rules)]
    shapes += [
        TableShape(
            (*parent.columns, *child.columns), tuple(shift_rule(one, given) for one in child.rules)
        )
        for child, _ in children
    ]
    models = [
        fit_model(
            counter,
            shape.columns,
            make_budget(share, counter),
            target=None if target is None or target.table != place else target.fitted(given),
            settings=settings,
            chance=chance,
            rules=shape.rules,
        )
        for place, (counter, shape, share) in enumerate(
            zip(counters, shapes, divide_family_budget(amount, len(children)), strict=True)
        )
    ]
    return FamilyModel(models[0], tuple(models[1:]), given)
