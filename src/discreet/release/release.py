"""What `anonymize` returns: what was published, what it proves, and what it cost. Keys are public."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from discreet.attacks.finding import Finding
from discreet.engines.caller_frames import to_frame_like, to_pandas_frame, to_polars_frame
from discreet.engines.connect import opened_table
from discreet.engines.engine import ArrowTable
from discreet.errors import Bug, WrongUsage
from discreet.measure.assessment import ClassView, CriterionVerdict
from discreet.policy import model
from discreet.result import Result
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.joint import JointUniqueness
    from discreet.measure.risk.sample import SampleRisk
    from discreet.release.history import EarlierRelease
    from discreet.release.homogeneous import HomogeneousClasses
    from discreet.release.registry import RegistryRecord
    from discreet.release.weighted_release import WeightedRelease


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
    `weighted` has it with each row counted as its sampling weight, where a column has that role.
    `suppressed` rows are hidden; `withheld` of them are not in the output. `diversity` lists,
    by sensitive column, the classes with the fewest values, and `homogeneous` counts those with one.
    `findings` are what attacks on the written rows learned, worst first; `accepted_risk` is the reason why it
    was published although one exceeded its tolerance, or although the policy left open what
    `undecided` lists; `joint` counts who is alone on all that is published; `history` are earlier
    releases of the same people, as far as they are known, and `not_tried` those that could not be put
    together with this one. `id` names it in the custodian's registry. `manifest` is the path of the
    manifest's file, None in memory; `manifest_content` is what it holds.

    >>> import discreet, pyarrow
    >>> people = pyarrow.table({"age": [31, 32, 47, 48], "ill": ["flu", "gout", "gout", "flu"]})
    >>> release = discreet.anonymize(people, quasi=["age"], sensitive=["ill"], k=2, l=2)
    >>> release.k, [verdict.holds for verdict in release.criteria], release.findings[0].advantage
    (2, [True, True], 0.0)
    >>> release.manifest_content["release"]["k"], release.to_arrow().num_rows
    (2, 4)
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
    weighted: WeightedRelease | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    accepted_risk: str | None = None
    history: tuple[EarlierRelease, ...] = ()
    not_tried: tuple[str, ...] = ()
    id: str | None = None
    _manifest_content: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    _record: RegistryRecord | None = None
    _policy: model.TablePolicy | None = None
    _rows: ArrowTable = field(default=None, repr=False, compare=False)
    _given: object = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return the verdict: a representation is shared more easily than labels of people should be."""
        return f"Release(source={self.source!r}, verdict={self.verdict!r})"

    def to_arrow(self) -> ArrowTable:
        """Return the published rows as an Arrow table.

        Raises:
            WrongUsage: Nothing was published, or it is in a database.
        """
        if self._rows is not None:
            return self._rows
        if self.output is None or self.sha256 is None:
            where = "nowhere" if self.output is None else f"to {self.output}"
            raise WrongUsage(f"The rows were written {where}: there are none to hand out here.")
        folder = f"{glob.escape(self.output)}*.parquet"
        with opened_table(folder if self.output.endswith("/") else self.output) as table:
            return table.engine.run(
                build.select(*(build.column(c.name) for c in table.columns), source=table.relation)
            )

    def to_pandas(self) -> Any:
        """Return the published rows as a pandas frame."""
        return to_pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the published rows as a polars frame."""
        return to_polars_frame(self.to_arrow())

    @property
    def frame(self) -> Any:
        """The published rows, as the kind of frame that the source was."""
        return to_frame_like(self._given, self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the published rows to anything that speaks Arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def with_rows(self, rows: ArrowTable, given: object) -> Self:
        """Return the release with its rows in memory, and the source they were made from."""
        return replace(self, _rows=rows, _given=given)

    @property
    def manifest_content(self) -> Mapping[str, Any] | None:
        """The manifest as plain data, also where no file was written; None of a dry run."""
        return self._manifest_content

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
