"""The tables that questions may name: location, policy and unit of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.schemas import PinnedSchema, unit_doubts
from discreet.engines.declared_schema import KIND_NAMES
from discreet.engines.engine import Column, Kind, Table
from discreet.errors import (
    InvalidQuestion,
    UndeclaredKind,
    UndeclaredUnit,
    UnknownColumn,
    WrongUsage,
    did_you_mean,
)
from discreet.policy import model
from discreet.policy.domain import declared_bounds, declared_values
from discreet.sql import build

# A whole-numbered column with few possible values has them all as public keys.
WIDEST_RANGE = 1000


@dataclass(frozen=True)
class Origin:
    """How a table was reached: `label` and `name` for people, and `place`, which recognizes it there.

    `place` changes whenever the content may have changed; None where that is unknown. `former` is the
    account that release 0.1.0 charged for it.
    """

    label: str
    name: str
    place: str | None
    former: str = ""


@dataclass(frozen=True)
class CatalogTable:
    """A table on an engine, with its policy.

    `account` names it in the ledger; with an `origin` and without an id in the policy, the ledger knows
    under which account it was first asked about. `version` changes with its content, and `rank` is the
    column of registered ranks, which no question can name. `pinned` is what the rows
    themselves decided because no policy declared it, `links` are the database's foreign key
    columns. `found` are bounds that were found privately.
    """

    name: str
    table: Table
    policy: model.TablePolicy | None
    account: str
    version: str
    rank: str | None = None
    origin: Origin | None = None
    pinned: PinnedSchema | None = None
    links: tuple[str, ...] = ()
    found: Mapping[str, tuple[Fraction, Fraction]] = field(
        default_factory=dict[str, "tuple[Fraction, Fraction]"], hash=False
    )

    @property
    def id(self) -> str | None:
        """The table's account in the policy; None if the policy names none."""
        return self.policy.id if self.policy else None

    @property
    def is_public(self) -> bool:
        """Whether the table is public."""
        return self.policy is not None and self.policy.public

    @property
    def unit(self) -> str | None:
        """The column whose rows are one person's; None: each row is a person."""
        return self.policy.unit if self.policy else None

    @property
    def planned_columns(self) -> tuple[Column, ...]:
        """The columns as questions are planned: whole numbers are reals where the policy says `number`."""
        return tuple(self._with_declared_kind(column) for column in self.table.columns)

    def column(self, name: str) -> Column | None:
        """Return the column called exactly `name` as questions are planned, or None."""
        found = self.table.column(name)
        return None if found is None else self._with_declared_kind(found)

    def _with_declared_kind(self, column: Column) -> Column:
        declared = (
            self.policy.column(column.name) if self.policy and not self.policy.public else None
        )
        is_number = declared is not None and declared.kind == KIND_NAMES[Kind.REAL]
        if is_number and column.kind is Kind.INTEGER:
            return replace(column, kind=Kind.REAL)
        return column

    def columns(self, alias: str) -> dict[str, TypedExpression]:
        """Return the columns as a question sees them, of the table called `alias`."""
        return {
            column.name: self._type_column(column, alias)
            for column in self.planned_columns
            if column.name != self.rank
        }

    def _type_column(self, column: Column, alias: str) -> TypedExpression:
        declared = self.policy.column(column.name) if self.policy else None
        return TypedExpression(
            tree=build.column(column.name, of=alias),
            kind=column.kind,
            step=Fraction(1) if column.kind is Kind.INTEGER else None,
            values=None if declared is None else public_values(declared, column.kind),
        )

    def bounds(self, name: str) -> tuple[Fraction, Fraction] | None:
        """Return the bounds that the policy declares for a number; drafted bounds do not count."""
        declared = self.policy.column(name) if self.policy else None
        if declared is not None and declared.has_private_bounds:
            return self.found.get(name)
        bounds = declared_bounds(declared) if declared else None
        return None if bounds is None else (Fraction(bounds[0]), Fraction(bounds[1]))


@dataclass(frozen=True)
class Catalog:
    """All tables by name; a table is opened when a question first names it.

    `main` is the one that the source itself is, None where it is a database of several.
    """

    openers: Mapping[str, Callable[[], CatalogTable]]
    _opened: dict[str, CatalogTable] = field(default_factory=dict[str, CatalogTable], compare=False)
    main: str | None = None

    @property
    def has_public(self) -> bool:
        """Whether a question has named a public table that may change."""
        return any(held.is_public for held in self._opened.values())

    def find(self, name: str) -> CatalogTable:
        """Return the table called `name`; case does not count, as in SQL."""
        known = {key.casefold(): key for key in self.openers}
        found = known.get(name.casefold())
        if found is None:
            near = did_you_mean(name, self.openers)
            raise InvalidQuestion(f"There is no table '{name}'.{near}")
        if found not in self._opened:
            self._opened[found] = self.openers[found]()
        return self._opened[found]

    def find_named(self, name: str | None) -> CatalogTable:
        """Return the table called `name`, by default the one that the source itself is."""
        if name is None and self.main is None:
            listed = ", ".join(sorted(self.openers))
            raise WrongUsage(f"The source has several tables. Name one with --table {listed}.")
        return self.find(name or self.main or "")

    def with_bounds(self, found: Mapping[tuple[str, str], tuple[Fraction, Fraction]]) -> Catalog:
        """Return the tables with bounds that were found, by table and column."""

        def opener(name: str) -> Callable[[], CatalogTable]:
            def opened() -> CatalogTable:
                held = self.find(name)
                mine = {column: bounds for (of, column), bounds in found.items() if of == held.name}
                return replace(held, found=mine)

            return opened

        return Catalog({name: opener(name) for name in self.openers}, main=self.main)


def require_policy(held: CatalogTable, what: str) -> model.TablePolicy:
    """Return the policy of a table, which `what` needs as it works on codes of declared values.

    Raises:
        WrongUsage: The table has no policy.
    """
    if held.policy is None:
        raise WrongUsage(
            f"{what} needs to know which values are possible. Write a policy with `discreet init`, or declare "
            "columns: bounds={'age': (0, 110)}, values={'sex': ['f', 'm']}."
        )
    return held.policy


def require_unit(held: CatalogTable) -> None:
    """Refuse to take each row for a person if the unit is undeclared and a column looks like a key.

    Raises:
        UndeclaredUnit: A person may have several rows of the table.
    """
    is_declared = held.policy is not None and (held.policy.unit_is_row or held.is_public)
    if held.policy and held.unit is None and not is_declared and held.table.undeclared is None:
        raise UndeclaredUnit(
            f"The unit of '{held.name}' is not declared: its source has no header, so that only its rows "
            "could show whether a column identifies the person. Write `unit: COLUMN` into its policy, or "
            "`unit: row` if each row is another person."
        )
    doubts = unit_doubts(held.policy, held.table, held.pinned)
    doubts = tuple(dict.fromkeys([*doubts, *(() if is_declared else held.links)]))
    if not doubts or held.unit is not None:
        return
    listed = ", ".join(f"'{name}'" for name in doubts[:3])
    what = f"{listed} may identify the person, so that one person may have several rows"
    how = (
        f"Write `unit: {doubts[0]}` into its policy, or `unit: row` if each row is another person."
        if held.policy
        else "Draft a policy (`discreet init SOURCE -o policy.yaml`), let its `unit:` name the column, "
        "or `row` if each row is another person, and ask with it."
    )
    raise UndeclaredUnit(f"The unit of '{held.name}' is not declared: {what}. {how}")


def require_named_columns(held: CatalogTable, names: Iterable[str]) -> None:
    """Refuse names of columns that a table does not have, or whose cells its policy says nothing about.

    Raises:
        UndeclaredKind: A source without types has these columns, and the policy declares none of them.
        UnknownColumn: There is no such column.
    """
    known = [column.name for column in held.planned_columns if column.name != held.rank]
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    in_source = [name for name in unknown if name in (held.table.undeclared or ())]
    for name in unknown:
        if name not in in_source:
            known += held.table.undeclared or ()
            near = did_you_mean(name, known)
            raise UnknownColumn(f"Column '{name}' is not in the table.{near}")
    if in_source:
        listed = ", ".join(f"'{name}'" for name in in_source)
        what = f"column {listed}" if len(in_source) == 1 else f"the columns {listed}"
        raise UndeclaredKind(
            f"'{held.name}' has {what}, but no policy says what is in "
            f"{'it' if len(in_source) == 1 else 'them'}, and rows may not decide that. Declare a `kind:`, `values:` or "
            "`bounds:` in the policy, or here: values={'sex': ['f', 'm']}, bounds={'age': (0, 110)}."
        )


def public_values(column: model.ColumnPolicy, kind: Kind) -> tuple[object, ...] | None:
    """Return the public domain of a column as values of its kind, or None when there is none.

    What was drafted from the data is no public domain until the custodian confirms it.
    """
    values, bounds = declared_values(column), declared_bounds(column)
    if values is not None:
        read = [_read(value, kind) for value in values]
        return None if any(value is None for value in read) else tuple(read)
    if kind is Kind.BOOLEAN:
        return (False, True)
    if kind is Kind.INTEGER and bounds is not None:
        low, high = bounds
        if high - low < WIDEST_RANGE:
            return tuple(range(int(low.to_integral_value("ROUND_CEILING")), int(high) + 1))
    return None


def _read(value: str, kind: Kind) -> object:
    """Return a value of the policy as the engine has it, or None if it is none of its kind."""
    try:
        if kind is Kind.TEXT:
            return value
        if kind is Kind.INTEGER:
            return int(value)
        if kind is Kind.BOOLEAN:
            return {"true": True, "false": False}.get(value.lower())
        if kind is Kind.DATE:
            return date.fromisoformat(value)
        if kind is Kind.REAL:
            return float(Decimal(value))
    except (ValueError, InvalidOperation):
        return None
    return None
