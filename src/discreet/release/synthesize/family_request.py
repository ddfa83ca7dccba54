"""A request for the synthetic tables of a family, such as patients and visits, and what it gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.domain.declared import Need
from discreet.dp.noise import Noise
from discreet.dp.spending import ZcdpSpending
from discreet.engines.engine import Kind
from discreet.errors import Bug, UnknownColumn, WrongUsage, did_you_mean
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.family import (
    FamilyModel,
    FamilyTarget,
    FamilyTree,
    TableShape,
    divide_family_budget,
    fit_family,
)
from discreet.release.synthesize.request import RowCounts, SynthesisRequest, column_shapes
from discreet.release.synthesize.resolutions import ColumnShape


@dataclass(frozen=True)
class FamilyChild:
    """A child table: its name, its public domain, and how many rows of one parent count at most.

    `owner` is the place of the table that its rows belong to, the parent's being 0.
    """

    name: str
    domain: TableDomain
    most: int
    owner: int = 0


@dataclass(frozen=True)
class FamilyRequest:
    """Synthetic tables of a family that are asked for together.

    Attributes:
        name: The parent table.
        parent: Its domain, the method, and what all tables cost together, with the columns of all of them whose
            domains are found privately, as `TABLE.COLUMN`.
        children: The child tables.
        searched: For each table, the columns whose domains are found privately, and what of each.
        target: The table and the column that others are to predict.
    """

    name: str
    parent: SynthesisRequest
    children: tuple[FamilyChild, ...]
    searched: tuple[tuple[tuple[str, Need], ...], ...]
    target: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        names = self.names
        if not self.children or len(set(names)) < len(names):
            raise WrongUsage("Name one or more child tables, each once, and not the parent itself.")
        self._require_key(self.name, self.parent.domain)
        for child in self.children:
            self._require_key(child.name, child.domain)
        for name, domain, searched in zip(names, self.domains, self.searched, strict=True):
            if not domain.columns and not searched:
                raise WrongUsage(
                    f"No column of '{name}' is left to synthesize. Declare `values` or `bounds` of some."
                )
            for one in domain.surrogates:
                is_key = one.is_unit and name != self.name
                if one.references is None or is_key or one.references == (name, one.name):
                    continue
                if one.references[0] in names:
                    raise WrongUsage(
                        f"'{one.name}' of '{name}' refers to '{one.references[0]}', and only the unit of a "
                        "child table can refer to a table that is synthesized with it. Leave the column "
                        f"out: --leave-out {name}.{one.name}."
                    )

        self._require_target()

    def _require_target(self) -> None:
        if self.target is None:
            return
        table, column = self.target
        place = self.names.index(table)
        known = [one.name for one in self.domains[place].columns]
        known += [name for name, _ in self.searched[place]]
        if column not in known:
            raise UnknownColumn(
                f"The target '{column}' is not among the synthesized columns of '{table}'."
                f"{did_you_mean(column, known)}"
            )

    @staticmethod
    def _require_key(name: str, domain: TableDomain) -> None:
        keys = [one for one in domain.surrogates if one.is_unit]
        if not keys:
            raise WrongUsage(
                f"The unit of '{name}' is left out or has no role in the policy, and the tables are joined "
                "by it. List it with `role: identifier`, and do not leave it out."
            )
        if keys[0].kind is Kind.BOOLEAN:
            raise WrongUsage(f"The unit of '{name}' is true or false, and cannot be a key.")

    @property
    def tree(self) -> FamilyTree:
        """Whose rows those of each child table are."""
        return FamilyTree(tuple(one.owner for one in self.children))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables, the parent's first."""
        return (self.name, *(one.name for one in self.children))

    def with_domains(self, domains: Sequence[TableDomain]) -> FamilyRequest:
        """Return the request with the domains of all tables, after they were found."""
        children = zip(self.children, domains[1:], strict=True)
        return replace(
            self,
            parent=replace(self.parent, domain=domains[0]),
            children=tuple(replace(one, domain=domain) for one, domain in children),
        )

    @property
    def domains(self) -> tuple[TableDomain, ...]:
        """The domain of each table, the parent's first."""
        return (self.parent.domain, *(one.domain for one in self.children))

    def key(self) -> str:
        """Return one text for all that decides the model; equal requests are paid once."""
        content = {
            "synthesize_tables": 2,
            "parent": [self.name, json.loads(self.parent.key())],
            "children": [
                [one.name, one.domain.to_content(), one.most, *([one.owner] if one.owner else [])]
                for one in self.children
            ],
            "target": self.target,
        }
        return json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))

    @property
    def fitted_sizes(self) -> list[list[int]]:
        """How many codes the columns have that each table is fitted with.

        A parent is fitted with its numbers of children, a child with the columns of the tables above it.
        """
        own = [[column.size for column in one.columns] for one in self.domains]
        numbers = [one.most + 1 for one in self.children]
        return [self.tree.join_columns(place, own, numbers) for place in range(len(own))]

    def expected_errors(self, sensitivities: Sequence[int]) -> list[list[float]]:
        """Return the standard error of a count of one value, for each own column of each table.

        No data are read. `sensitivities` are how many rows one unit changes at most in each table.
        """
        found: list[list[float]] = []
        shares = divide_family_budget(self.parent.counts_amount, len(self.children))
        own = [column_shapes(one) for one in self.domains]
        numbers = [ColumnShape(one.most + 1, is_ordered=True) for one in self.children]
        for place, (most, share) in enumerate(zip(sensitivities, shares, strict=True)):
            shapes = self.tree.join_columns(place, own, numbers)
            errors = self.parent.column_errors(shapes, sensitivity=most, amount=share)
            above = sum(len(own[one]) for one in self.tree.list_ancestors(place))
            found.append(errors[above : above + len(own[place])])
        return found

    def fit(
        self, counters: Sequence[RowCounts], *, seed: int, noise: Noise | None = None
    ) -> FamilyModel:
        """Return the model of the rows that `counters` count, for the price of the request."""

        def make_budget(amount: Any, counter: Any) -> ZcdpSpending:
            return self.parent.make_budget(
                sensitivity=counter.sensitivity, one=counter.one, noise=noise, amount=amount
            )

        shapes = [TableShape(column_shapes(one), one.rules) for one in self.domains]
        return fit_family(
            counters,
            shapes[0],
            [(shape, one.most) for shape, one in zip(shapes[1:], self.children, strict=True)],
            self.parent.counts_amount,
            make_budget,
            settings=self.parent.settings,
            chance=np.random.default_rng(seed),
            target=self.fitted_target(),
            owners=self.tree.owners,
        )

    def fitted_target(self) -> FamilyTarget | None:
        """Return the place of the target."""
        if self.target is None:
            return None
        table = self.names.index(self.target[0])
        place = self.domains[table].place(self.target[1])
        if place is None:
            raise Bug("The target of synthetic tables has no domain.")
        return FamilyTarget(table, place)
