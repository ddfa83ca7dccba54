"""The policy as frozen values: what the loader returns and every other room reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal
    from pathlib import Path

    from discreet.policy.hierarchy import Hierarchy


class Role(StrEnum):
    """What an outsider can do with a column."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


@dataclass(frozen=True)
class Column:
    """One column's role and what is publicly known of its values.

    `values` lists the public domain in its natural order; `bounds` are public limits, as text was
    written in the policy, so that no precision is lost.
    """

    name: str
    role: Role
    bounds: tuple[Decimal, Decimal] | None = None
    values: tuple[str, ...] | None = None
    hierarchy: Hierarchy | None = None
    references: tuple[str, str] | None = None  # (table, column) a foreign key points to
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class KAnonymity:
    """Every class has at least `k` people (Samarati & Sweeney 1998)."""

    k: int
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class KMap:
    """Every class has at least `k` people in the population table (Sweeney 2002)."""

    k: int
    line: int | None = field(default=None, compare=False)


DiversityKind = Literal["distinct", "probabilistic", "entropy", "recursive"]


@dataclass(frozen=True)
class LDiversity:
    """Every class has `l` well-represented values (Machanavajjhala et al. 2006).

    `c` belongs to the recursive kind only.
    """

    column: str
    l: float
    kind: DiversityKind = "distinct"
    c: float | None = None
    line: int | None = field(default=None, compare=False)


Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True)
class TCloseness:
    """Every class is within earth-mover distance `t` of the table (Li, Li & Venkatasubramanian 2007)."""

    column: str
    t: float
    distance: Distance = "equal"
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class AlphaK:
    """Classes of at least `k` people in which no value exceeds the share `alpha` (Wong et al. 2006)."""

    column: str
    alpha: float
    k: int
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DeltaPresence:
    """The chance of being in the table stays within [`lower`, `upper`] (Nergiz et al. 2007)."""

    lower: float
    upper: float
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class BetaLikeness:
    """No value's share rises by more than `beta` relative to the table (Cao & Karras 2012)."""

    column: str
    beta: float
    kind: Literal["basic", "enhanced"] = "basic"
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class DeltaDisclosure:
    """Every value's log share changes by less than `delta` (Brickell & Shmatikov 2008)."""

    column: str
    delta: float
    line: int | None = field(default=None, compare=False)


Criterion = (
    KAnonymity
    | KMap
    | LDiversity
    | TCloseness
    | AlphaK
    | DeltaPresence
    | BetaLikeness
    | DeltaDisclosure
)


# The criteria by the names a policy gives them.
CRITERIA: dict[str, type[Criterion]] = {
    "k-anonymity": KAnonymity,
    "k-map": KMap,
    "l-diversity": LDiversity,
    "t-closeness": TCloseness,
    "alpha-k": AlphaK,
    "delta-presence": DeltaPresence,
    "beta-likeness": BetaLikeness,
    "delta-disclosure": DeltaDisclosure,
}


@dataclass(frozen=True)
class Table:
    """One table: where it is, whose privacy it holds, its columns and the criteria it must meet."""

    name: str
    columns: tuple[Column, ...]
    source: str | None = None
    unit: str | None = None
    criteria: tuple[Criterion, ...] = ()
    line: int | None = field(default=None, compare=False)

    def column(self, name: str) -> Column | None:
        """Return the column called `name`, or None when the policy does not list it."""
        return next((column for column in self.columns if column.name == name), None)

    def with_role(self, role: Role) -> tuple[str, ...]:
        """Return the names of the columns that have `role`, in the policy's order."""
        return tuple(column.name for column in self.columns if column.role is role)


@dataclass(frozen=True)
class Policy:
    """Everything that is protected, by table."""

    tables: Mapping[str, Table]
    path: Path | None = field(default=None, compare=False)
