"""Tables of people and of what each has several of, such as patients and visits, synthesized together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeVar

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

T = TypeVar("T")


@dataclass(frozen=True)
class FamilyTree:
    """Whose rows those of each child table are.

    Attributes:
        owners: For each child table, the place of the table to whose rows its own belong, the parent's being 0.
    """

    owners: tuple[int, ...]

    def list_ancestors(self, place: int) -> list[int]:
        """Return the places of the tables above one, the parent's first.

        >>> FamilyTree((0, 1)).list_ancestors(2)
        [0, 1]
        """
        if not place:
            return []
        owner = self.owners[place - 1]
        return [*self.list_ancestors(owner), owner]

    def list_children(self, place: int) -> list[int]:
        """Return the places of the tables whose rows belong to those of one."""
        return [child for child, owner in enumerate(self.owners, 1) if owner == place]

    def join_columns(
        self, place: int, columns: Sequence[Sequence[T]], numbers: Sequence[T]
    ) -> list[T]:
        """Return what a table is fitted with: of the tables above it, its own, and of its numbers of children.

        Args:
            place: The table.
            columns: What each table has for each of its own columns.
            numbers: What stands for the number of rows in each child table.

        >>> FamilyTree((0, 1)).join_columns(1, ["ab", "c", "d"], "12")
        ['a', 'b', 'c', '2']
        """
        own = [one for above in (*self.list_ancestors(place), place) for one in columns[above]]
        return [*own, *(numbers[child - 1] for child in self.list_children(place))]


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


@dataclass(frozen=True)
class ChildRows:
    """Rows of a child table, the place of each one's parent, and the table that has the parents."""

    rows: Rows
    parents: NDArray[np.int64]
    owner: int = 0


@dataclass(frozen=True)
class FamilyRows:
    """Rows of the parent table, and of each child table."""

    parents: Rows
    children: tuple[ChildRows, ...]

    def join_ancestors(self, place: int) -> Rows:
        """Return the rows of a table with the columns of the rows that they belong to, those of the parent first."""
        if not place:
            return self.parents
        child = self.children[place - 1]
        return np.column_stack([self.join_ancestors(child.owner)[child.parents], child.rows])

    def count_children(self, place: int) -> NDArray[np.int64]:
        """Return how many rows each row of its owner has in a child table."""
        child = self.children[place - 1]
        owner = self.parents if not child.owner else self.children[child.owner - 1].rows
        return np.bincount(child.parents, minlength=len(owner))

    def decode(
        self, parent: TableDomain, children: Sequence[TableDomain], chance: Chance
    ) -> list[ArrowTable]:
        """Return Arrow tables of the parent and of each child table.

        Guarantee: the key that each child row refers to is that of one row of the table that it belongs to.
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
        children: For each child table, of the columns of the tables above it, its own, and how many rows it has
            in the tables below it.
        given: How many columns the parent has.
        owners: The table to whose rows those of each child table belong.
    """

    parent: SyntheticModel
    children: tuple[SyntheticModel, ...]
    given: int
    owners: tuple[int, ...]

    @property
    def models(self) -> tuple[SyntheticModel, ...]:
        """The model of each table, the parent's first."""
        return (self.parent, *self.children)

    @property
    def tree(self) -> FamilyTree:
        """Whose rows those of each child table are."""
        return FamilyTree(self.owners)

    def count_above(self, place: int) -> int:
        """Return how many columns of the tables above it a table is fitted with, before its own."""
        return sum(self.count_own(above) for above in self.tree.list_ancestors(place))

    def count_own(self, place: int) -> int:
        """Return how many columns of its own a table is fitted with."""
        if not place:
            return self.given
        fitted = len(self.models[place].rules.sizes)
        return fitted - self.count_above(place) - len(self.tree.list_children(place))

    def sample(self, count: int, chance: Chance) -> FamilyRows:
        """Return `count` parents and all their children.

        Guarantee: every child has a parent, and every parent as many children as were drawn for it.

        Raises:
            WrongUsage: These are more children than memory may hold.
        """
        drawn = [self.parent.sample(count, chance)]
        children: list[ChildRows] = []
        for place, (model, owner) in enumerate(zip(self.children, self.owners, strict=True), 1):
            above = self.count_above(place)
            number = above + self.tree.list_children(owner).index(place)
            numbers = drawn[owner][:, number]
            _require_memory(int(numbers.sum()), len(model.rules.sizes))
            parents = np.repeat(np.arange(len(numbers)), numbers)
            drawn.append(model.sample_given(drawn[owner][parents, :above], chance))
            own = drawn[-1][:, above : above + self.count_own(place)]
            children.append(ChildRows(own, parents, owner))
        return FamilyRows(drawn[0][:, : self.given], tuple(children))

    def to_content(self) -> dict[str, Any]:
        """Return what a file needs to hold, as JSON can write it."""
        # Models of two levels are written as they were before there were more.
        owners = {"owners": list(self.owners)} if any(self.owners) else {}
        return {
            "parent": self.parent.to_content(),
            "children": [one.to_content() for one in self.children],
            "given": self.given,
            **owners,
        }

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> FamilyModel:
        """Return the model that `to_content` wrote."""
        children = tuple(SyntheticModel.from_content(one) for one in content["children"])
        owners = tuple(content.get("owners", [0] * len(children)))
        if len(owners) != len(children) or any(
            type(owner) is not int or not 0 <= owner < place
            for place, owner in enumerate(owners, 1)
        ):
            raise ValueError("owners")
        parent = SyntheticModel.from_content(content["parent"])
        return FamilyModel(parent, children, int(content["given"]), owners)


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


def fit_family(  # noqa: PLR0913 -- what is fitted, and how
    counters: Sequence[Counter],
    parent: TableShape,
    children: Sequence[tuple[TableShape, int]],
    amount: Fraction,
    make_budget: BudgetMaker,
    *,
    settings: FitSettings,
    chance: Chance,
    target: FamilyTarget | None = None,
    owners: Sequence[int] | None = None,
) -> FamilyModel:
    """Return the model of a family of tables, measured within `amount`.

    Half of it is for the parent, the rest for its child tables alike. Rules of a child table are about its
    own columns.

    Args:
        counters: Of the parent's columns and numbers of children; then, for each child table, of the
            columns of the tables above it, its own, and its numbers of children.
        parent: The parent table.
        children: Each child table, and how many rows of one parent count at most.
        amount: What may be spent: a rho, or an epsilon without delta.
        make_budget: Makes the budget of each table.
        settings: How tables are fitted.
        chance: Randomness that needs no protection.
        target: The column that others are to predict.
        owners: The table to whose rows those of each child table belong; by default the parent.
    """
    tree = FamilyTree(tuple(owners or [0] * len(children)))
    shapes = [parent, *(shape for shape, _ in children)]
    columns = [shape.columns for shape in shapes]
    numbers = [ColumnShape(most + 1, is_ordered=True) for _, most in children]
    shares = divide_family_budget(amount, len(children))
    models: list[SyntheticModel] = []
    for place, (counter, shape, share) in enumerate(zip(counters, shapes, shares, strict=True)):
        above = sum(len(columns[one]) for one in tree.list_ancestors(place))
        model = fit_model(
            counter,
            tree.join_columns(place, columns, numbers),
            make_budget(share, counter),
            target=None if target is None or target.table != place else above + target.column,
            settings=settings,
            chance=chance,
            rules=tuple(shift_rule(one, above) for one in shape.rules),
        )
        models.append(model)
    return FamilyModel(models[0], tuple(models[1:]), len(parent.columns), tree.owners)
