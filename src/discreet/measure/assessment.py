"""What `assess` returns: one verdict, then everything it rests on. Keys are public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.result import Result, TabularResult

if TYPE_CHECKING:
    from discreet.measure.joint import JointUniqueness
    from discreet.measure.risk.population import PopulationUniques
    from discreet.measure.risk.sample import SampleRisk
    from discreet.measure.risk.uniques import Uniques
    from discreet.measure.risk.weighted import WeightedRisk


@dataclass(frozen=True)
class ClassView(Result):
    """One class as its custodian may see it: never part of a shared report."""

    values: Mapping[str, Any]
    size: int
    level: float | None = None


@dataclass(frozen=True)
class Diversity(Result):
    """The l-diversity a table reaches, by kind.

    `recursive` gives, for each l, the bound that c must exceed: `"inf"` where no c will do.
    """

    distinct: int
    probabilistic: float
    entropy: float
    recursive: Mapping[int, float]


@dataclass(frozen=True)
class Closeness(Result):
    """The t-closeness a table reaches, by distance; None where the distance is not defined."""

    equal: float
    ordered: float | None
    hierarchical: float | None


@dataclass(frozen=True)
class SensitiveColumn(Result):
    """How well one sensitive column is protected within classes.

    `homogeneous` counts the people whose class has one known value only: it is revealed for all of them.
    `modal_share` is the share of people with the most frequent value, among those with a known one.
    """

    values: int
    missing: int
    modal_share: float
    homogeneous: int
    l: Diversity
    t: Closeness
    alpha: float
    basic_beta: float
    enhanced_beta: float
    delta_disclosure: float
    worst: Mapping[str, tuple[ClassView, ...]]


@dataclass(frozen=True)
class CriterionVerdict(Result):
    """Whether one criterion of the policy holds, and who stands in its way."""

    criterion: str
    column: str | None
    required: Mapping[str, Any]
    reached: Any
    holds: bool
    failing_classes: int
    failing_people: int
    worst: tuple[ClassView, ...] = ()


@dataclass(frozen=True)
class Presence(Result):
    """The table against a population table: k-map and δ-presence."""

    population: int
    k_map: int
    lowest: float
    highest: float
    people_not_in_population: int
    worst: tuple[ClassView, ...] = ()


@dataclass(frozen=True)
class Selectivity(Result):
    """How far one column, by itself, narrows down a person."""

    column: str
    role: str
    distinct: int
    missing: int
    unique: int
    largest: int


@dataclass(frozen=True)
class Exposure(Result):
    """One way in which people are exposed: how many, what is tolerated, and a sentence.

    `attack` is the name by which a policy states its tolerance, `column` the sensitive column that
    is learned, where it is one.
    """

    attack: str
    column: str | None
    people: int
    share: float
    tolerance: float
    exceeds: bool
    words: str


@dataclass(frozen=True)
class Assessment(TabularResult):
    """How identifiable the people in a table are.

    `exposures` are what a release of the table as it is would expose, worst first, each held against
    its tolerance; `undecided` is what its policy leaves open. `weighted` is what the weights of a survey say
    about the population, where a column has that role.

    `to_pandas()` has a row for each column: how far it narrows a person down.

    >>> import discreet
    >>> found = discreet.assess("doctors.csv", quasi=["ward"])
    >>> found.unique, found.k == min(found.class_sizes)
    (0, True)
    """

    _records: ClassVar[str] = "columns"

    source: str
    verdict: str
    quasi: tuple[str, ...]
    unit: str | None
    roles_guessed: bool
    rows: int
    people: int
    suppressed: int
    classes: int
    unique: int
    k: int | None
    class_sizes: Mapping[int, int]
    smallest: tuple[ClassView, ...]
    columns: tuple[Selectivity, ...]
    sensitive: Mapping[str, SensitiveColumn]
    criteria: tuple[CriterionVerdict, ...]
    risk: SampleRisk
    joint: JointUniqueness
    exposures: tuple[Exposure, ...] = ()
    undecided: tuple[str, ...] = ()
    presence: Presence | None = None
    population: PopulationUniques | None = None
    combinations: Uniques | None = None
    weighted: WeightedRisk | None = None
    cautions: tuple[str, ...] = field(default=())

    @property
    def holds(self) -> bool:
        """Whether every criterion of the policy holds."""
        return all(verdict.holds for verdict in self.criteria)

    @property
    def is_tolerable(self) -> bool:
        """Whether nothing is left undecided, and nothing is exposed beyond its tolerance."""
        return not self.undecided and not any(one.exceeds for one in self.exposures)
