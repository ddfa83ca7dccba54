"""What `anonymize` returns: what was published, what it proves, and what it cost. Keys are public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.attack.finding import Finding
from discreet.errors import Bug
from discreet.measure.assessment import ClassView, CriterionVerdict
from discreet.policy import model
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.measure.joint import JointUniqueness
    from discreet.measure.risk.sample import SampleRisk
    from discreet.release.history import EarlierRelease
    from discreet.release.homogeneous import HomogeneousClasses
    from discreet.release.registry import RegistryRecord


@dataclass(frozen=True)
class Risks(Result):
    """The chance of being found, in the source and in the release."""

    before: SampleRisk
    after: SampleRisk


@dataclass(frozen=True)
class Release(Result):
    """A published table: how it was made, which criteria it meets when read again, what was lost.

    `loss` is the mean share of a column's domain that a label covers, 0 for the values themselves
    and 1 where everything is hidden (ARX's Loss, arithmetic mean); `losses` has it by column.
    `suppressed` rows are hidden; `withheld` of them are not in the output. `diversity` lists,
    by sensitive column, the classes with the fewest values, and `homogeneous` counts those with one.
    `findings` are what attacks on the written rows learned, worst first; `accepted_risk` is the reason why it
    was published although one exceeded its tolerance, or although the policy left open what
    `undecided` lists; `joint` counts who is alone on all that is published; `history` are earlier
    releases of the same people, as far as they are known, and `not_tried` those that could not be put
    together with this one. `id` names it in the custodian's registry.
    """

    source: str
    output: str | None
    verdict: str
    method: str
    rows: int
    people: int
    unit: str | None
    k: int | None
    classes: int
    suppressed: int
    withheld: int
    loss: float
    losses: Mapping[str, float]
    criteria: tuple[CriterionVerdict, ...]
    risk: Risks
    search: Mapping[str, Any]
    utility: Mapping[str, Any] = field(default_factory=dict[str, Any])
    steps: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    diversity: Mapping[str, tuple[ClassView, ...]] = field(
        default_factory=dict[str, "tuple[ClassView, ...]"]
    )
    homogeneous: Mapping[str, HomogeneousClasses] = field(
        default_factory=dict[str, "HomogeneousClasses"]
    )
    outliers: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    sha256: str | None = None
    bytes: int | None = None
    manifest: str | None = None
    frontier: tuple[Mapping[str, Any], ...] = ()
    minimal: tuple[Mapping[str, int], ...] = ()
    joint: JointUniqueness | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    accepted_risk: str | None = None
    history: tuple[EarlierRelease, ...] = ()
    not_tried: tuple[str, ...] = ()
    id: str | None = None
    _record: RegistryRecord | None = None
    _policy: model.TablePolicy | None = None

    @property
    def record(self) -> RegistryRecord | None:
        """What the custodian's registry has of it, None where nothing is remembered."""
        return self._record

    @property
    def policy(self) -> model.TablePolicy:
        """The policy as it was carried out."""
        if self._policy is None:
            raise Bug("A release has lost its policy.")
        return self._policy
