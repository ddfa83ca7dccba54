"""The policy as frozen values: what the loader returns and every other package reads."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

# Criteria are parts of a policy, and are named here as well.
# pyright: reportUnusedImport=false
from discreet.criteria import (  # noqa: F401
    AlphaK,
    BetaLikeness,
    Criterion,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
)
from discreet.policy.answer_model import (
    BudgetPolicy,
    ContributionLimits,
    Parts,
    UnitPeriod,
    WorkloadPolicy,
)
from discreet.policy.rules import DeclaredRule, rules_without
from discreet.policy.text_format import CellFormat, TextFormat

if TYPE_CHECKING:
    from discreet.policy.hierarchy import Hierarchy


class ColumnRole(StrEnum):
    """What an outsider can do with a column.

    >>> ColumnRole("quasi-identifier") is ColumnRole.QUASI_IDENTIFIER
    True
    """

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"
    WEIGHT = "weight"  # how many people of the population a row stands for
    HOUSEHOLD = "household"  # links the people of a household or cluster

    @property
    def names_people(self) -> bool:
        """Whether a column of this role names a person or a group of people: it is never published."""
        return self in (ColumnRole.IDENTIFIER, ColumnRole.HOUSEHOLD)


ColumnKind = Literal["integer", "number", "text", "boolean", "date", "timestamp", "time"]


@dataclass(frozen=True)
class ColumnPolicy:
    """One column's role and what is publicly known of its values.

    `values` lists the public domain in its natural order; `bounds` are public limits, as text was
    written in the policy, so that no precision is lost; `date_bounds` are those of dates and timestamps. What `drafted` names was proposed from the
    data and not yet confirmed: it may guide a release, and is not public. With
    `has_private_bounds` questions find bounds themselves, for a share of epsilon.
    `unsure` marks a role that was guessed and not confirmed: the table is not published until it
    is. `is_ordered` is false for numbers that are codes of categories: they are not put into ranges.
    `kind` is what its values are, for all rows; `written` is how its cells are written in a text file.

    >>> age = ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER, bounds=(Decimal(0), Decimal(120)))
    >>> age.role
    <ColumnRole.QUASI_IDENTIFIER: 'quasi-identifier'>
    """

    name: str
    role: ColumnRole
    bounds: tuple[Decimal, Decimal] | None = None
    values: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    references: tuple[str, str] | None = None  # (table, column) a foreign key points to
    drafted: frozenset[Literal["bounds", "values"]] = frozenset()
    has_private_bounds: bool = False
    unsure: bool = False
    is_ordered: bool = True
    kind: ColumnKind | None = None
    written: CellFormat = field(default_factory=CellFormat)
    date_bounds: tuple[dt.date, dt.date] | None = (
        None  # with times of the day where they are written
    )
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Clip:
    """Numbers beyond a bound become the bound.

    >>> step_name(Clip("income", (Decimal(0), Decimal(90000))))
    'clip'
    """

    promise: ClassVar[str] = (
        "No number outside the bounds remains: one beyond a bound becomes that bound. "
        "It does not promise that anyone is less unique."
    )
    column: str
    bounds: tuple[Decimal, Decimal]
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TopCode:
    """Numbers above `at` become `at`.

    >>> step_name(TopCode("age", Decimal(90)))
    'top-code'
    """

    promise: ClassVar[str] = (
        "No number above the bound remains: each of them becomes the bound. "
        "It does not promise that anyone is less unique."
    )
    column: str
    at: Decimal
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BottomCode:
    """Numbers below `at` become `at`.

    >>> step_name(BottomCode("age", Decimal(18)))
    'bottom-code'
    """

    promise: ClassVar[str] = (
        "No number below the bound remains: each of them becomes the bound. "
        "It does not promise that anyone is less unique."
    )
    column: str
    at: Decimal
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RoundNumbers:
    """Numbers become the nearest multiple of `base`, halves away from zero.

    >>> step_name(RoundNumbers("income", Decimal(1000)))
    'round'
    """

    promise: ClassVar[str] = (
        "Every number is a multiple of the base, and within half a base of the true one. "
        "It does not promise that anyone is less unique."
    )
    column: str
    base: Decimal
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Microaggregate:
    """Groups of `k` or more similar rows get the means of their numbers (Domingo-Ferrer & Mateo-Sanz 2002).

    >>> step_name(Microaggregate(("age", "income"), k=5))
    'microaggregate'
    """

    promise: ClassVar[str] = (
        "Each combination of numbers in the columns is shared by at least k rows; "
        "it promises nothing about the other columns, and nothing about people with several rows."
    )
    columns: tuple[str, ...]
    k: int
    method: Literal["mdav", "univariate"] = "mdav"
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Pram:
    """Values are replaced by chance, invariantly (Gouweleeuw, Kooiman, Willenborg & de Wolf 1998).

    `keep` is the share of rows that are expected to keep their value.

    >>> step_name(Pram("ward", keep=0.9))
    'pram'
    """

    promise: ClassVar[str] = (
        "Each value is expected in as many rows as before, and the published matrix states "
        "the chance of every change. It promises nothing about any one row but that its value may be untrue."
    )
    column: str
    keep: float
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Swap:
    """Pairs of rows that agree on `match` exchange their values of `columns` (Dalenius & Reiss 1982).

    >>> step_name(Swap(("income",), share=0.1, match=("ward",)))
    'swap'
    """

    promise: ClassVar[str] = (
        "Among rows that agree on the match columns, each combination of the swapped values is in "
        "exactly as many rows as before. It promises nothing about any one row but that its values may be untrue."
    )
    columns: tuple[str, ...]
    share: float
    match: tuple[str, ...] = ()
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RankSwap:
    """Pairs of rows at most the share `window` of all ranks apart exchange their values (Moore 1996).

    >>> step_name(RankSwap("income", window=0.05))
    'rank-swap'
    """

    promise: ClassVar[str] = (
        "Each value is in exactly as many rows as before, and no row gets one from beyond the window "
        "of ranks. It promises nothing about any one row but that its value may be untrue."
    )
    column: str
    window: float
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class AddNoise:
    """Gaussian noise of `scale` standard deviations is added to the numbers.

    >>> step_name(AddNoise("income", scale=0.1))
    'noise'
    """

    promise: ClassVar[str] = (
        "No promise. The noise has mean zero, but it is not differential privacy: "
        "it is scaled by the data, and an outlier stays one."
    )
    column: str
    scale: float
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SuppressCells:
    """Cells become `*` until `k` people agree; without `columns`, those of the quasi-identifiers.

    >>> step_name(SuppressCells(k=5, columns=("age", "ward")))
    'suppress-cells'
    """

    promise: ClassVar[str] = (
        "Each combination of the columns, in which a hidden cell is `*` and equal to hidden cells only, "
        "is shared by at least k people. It promises nothing about what the other columns say of them."
    )
    k: int
    columns: tuple[str, ...] = ()
    method: Literal["greedy", "optimal"] = "greedy"
    line: int | None = field(default=None, compare=False)


Step = (
    Clip
    | TopCode
    | BottomCode
    | RoundNumbers
    | Microaggregate
    | Pram
    | Swap
    | RankSwap
    | AddNoise
    | SuppressCells
)


# The steps by the names a policy gives them.
STEPS: dict[str, type[Step]] = {
    "clip": Clip,
    "top-code": TopCode,
    "bottom-code": BottomCode,
    "round": RoundNumbers,
    "microaggregate": Microaggregate,
    "pram": Pram,
    "swap": Swap,
    "rank-swap": RankSwap,
    "noise": AddNoise,
    "suppress-cells": SuppressCells,
}


def step_name(step: Step) -> str:
    """Return the name that a policy gives to `step`.

    >>> step_name(RankSwap("income", 0.05))
    'rank-swap'
    """
    return next(name for name, kind in STEPS.items() if isinstance(step, kind))


Utility = Literal[
    "loss",
    "geometric-loss",
    "discernibility",
    "class-size",
    "entropy",
    "monotone-entropy",
    "precision",
    "height",
    "classification",
]


@dataclass(frozen=True)
class ReleasePolicy:
    """How a table is published: how classes are made, what they may cost, and what else is done.

    `suppress` is the share of rows that may be left out, `weights` what a quasi-identifier's loss
    counts (1 where it is not listed), `target` the column that a classifier is to predict,
    `options` the method's own options, `leave_out` the columns that are not published, whatever their
    roles. The sampling weight is
    published with `publish_weight` only: one that few people have singles them out.

    >>> release = ReleasePolicy(suppress=0.05, steps=(TopCode("age", Decimal(90)),))
    >>> release.method, len(release.steps)
    ('local', 1)
    """

    method: str = "local"
    suppress: float = 0.0
    utility: Utility = "loss"
    weights: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    target: str | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    leave_out: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    publish_weight: bool = False
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class TablePolicy:
    """One table: its source, unit, columns and the criteria it must meet.

    `id` names its account in the ledger, wherever the table is; `distinct_from` are ids of tables whose
    rows look alike and are other people's. `public`
    tables may be read by every user. `tolerance` is the share of people that an attack, by name or
    by `default`, may expose in what is published. `partitions` are the columns whose parts of the
    table are charged apart: a unit lies in one part only. `rules` hold in every row. `unit_is_row` means that each row was
    declared to be a person; with neither that nor a `unit`, the unit is undeclared.

    >>> table = TablePolicy(
    ...     "people",
    ...     (
    ...         ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
    ...         ColumnPolicy("ill", ColumnRole.SENSITIVE),
    ...     ),
    ...     criteria=(KAnonymity(5), LDiversity("ill", l=3)),
    ... )
    >>> table.with_role(ColumnRole.SENSITIVE)
    ('ill',)
    """

    name: str
    columns: tuple[ColumnPolicy, ...]
    source: str | None = None
    unit: str | None = None
    criteria: tuple[Criterion, ...] = ()
    release: ReleasePolicy = field(default_factory=ReleasePolicy)
    public: bool = False
    budget: BudgetPolicy | None = None
    limits: ContributionLimits = field(default_factory=ContributionLimits)
    unit_period: UnitPeriod | None = None
    partitions: Mapping[str, Parts] = field(default_factory=dict[str, "Parts"], hash=False)
    tolerance: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    id: str | None = None
    unit_is_row: bool = False
    reading: TextFormat = field(default_factory=TextFormat)
    distinct_from: tuple[str, ...] = ()
    rules: tuple[DeclaredRule, ...] = ()
    line: int | None = field(default=None, compare=False)

    def column(self, name: str) -> ColumnPolicy | None:
        """Return the column called `name`, or None when the policy does not list it."""
        return next((column for column in self.columns if column.name == name), None)

    def with_role(self, role: ColumnRole) -> tuple[str, ...]:
        """Return the names of the columns that have `role`, in the policy's order."""
        return tuple(column.name for column in self.columns if column.role is role)

    @property
    def weight(self) -> str | None:
        """The column of sampling weights, None when no column has that role."""
        return next(iter(self.with_role(ColumnRole.WEIGHT)), None)

    @property
    def unpublished(self) -> tuple[str, ...]:
        """The columns that no release has: what names people, and the weight unless it is asked for."""
        return tuple(
            column.name
            for column in self.columns
            if column.role.names_people
            or (column.role is ColumnRole.WEIGHT and not self.release.publish_weight)
        )

    @property
    def unit_words(self) -> str:
        """Whose rows are protected together."""
        unit, period = self.unit, self.unit_period
        if unit is None:
            return "row"
        return unit if period is None else f"{unit} in one {period.period} of {period.column}"

    def leave_out(self, names: Collection[str]) -> TablePolicy:
        """Return the policy of the table whose releases lack these columns, too."""
        left = tuple(dict.fromkeys((*self.release.leave_out, *names)))
        return replace(self, release=replace(self.release, leave_out=left))

    def without(self, names: Collection[str]) -> TablePolicy:
        """Return the policy of the table without these columns: nothing is asked of them any more."""
        release = replace(
            self.release,
            leave_out=tuple(name for name in self.release.leave_out if name not in names),
            weights={n: weight for n, weight in self.release.weights.items() if n not in names},
        )
        return replace(
            self,
            columns=tuple(column for column in self.columns if column.name not in names),
            criteria=tuple(c for c in self.criteria if getattr(c, "column", None) not in names),
            release=release,
            rules=rules_without(self.rules, names),
        )


@dataclass(frozen=True)
class Policy:
    """The protected tables by name, and the budget of all of them together.

    `id` names the account of the common budget in the ledger, wherever the file is. `workloads` are questions that
    are asked together, by name.

    >>> from discreet.policy import dump_policy
    >>> people = TablePolicy("people", (ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),))
    >>> print(dump_policy(Policy({"people": people})))  # as the policy's file has it
    tables:
      people:
        columns:
          age: {role: quasi-identifier}
    <BLANKLINE>
    """

    tables: Mapping[str, TablePolicy]
    path: Path | None = field(default=None, compare=False)
    budget: BudgetPolicy | None = None
    id: str | None = None
    workloads: Mapping[str, WorkloadPolicy] = field(default_factory=dict[str, WorkloadPolicy])
