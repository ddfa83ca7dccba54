"""Every attack that a published table admits, with what the adversary is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.attacks.finding import Finding, worst_first
from discreet.engines.engine import Table
from discreet.errors import DiscreetError
from discreet.policy import model
from discreet.registry import ATTACKS, AttackSpec

if TYPE_CHECKING:
    import numpy as np

    from discreet.attacks.classes.histograms import Classes
    from discreet.attacks.synthetic.trial import SyntheticTrial
    from discreet.measure.roles import RoleBinding


@dataclass(frozen=True)
class AttackInput:
    """A release with the parts of its columns, and what the adversary has beside it.

    Attributes:
        release: The published table.
        described: What its policy or its manifest says of it, such as hierarchies.
        known: A list of people, on the release's engine.
        on: Columns to find them by; default the quasi-identifiers that both sides have.
        earlier: Releases of the same people made before, on the release's engine.
        trial: The release as synthetic data, beside its source and a control group.
        rng: Where chance comes from.
        jointly: Whether several sensitive columns are attacked alone and as one, or only alone.
    """

    release: RoleBinding
    rng: np.random.Generator
    described: model.TablePolicy | None = None
    known: Table | None = None
    on: Sequence[str] | None = None
    earlier: tuple[Table, ...] = ()
    trial: SyntheticTrial | None = None
    jointly: bool = True

    @cached_property
    def classes(self) -> Classes:
        """The classes of the release with their sensitive values, read once."""
        from discreet.attacks.classes.histograms import read_classes

        classes = read_classes(self.release)
        return classes if self.jointly else replace(classes, jointly=None)


@dataclass(frozen=True)
class AttackReport:
    """What all attacks found, worst first, and why others were not tried, by attack."""

    findings: tuple[Finding, ...]
    not_tried: dict[str, str] = field(default_factory=dict[str, str])


def attack_all(given: AttackInput) -> AttackReport:
    """Run every attack that the release admits; one that cannot run is reported, not fatal."""
    findings: list[Finding] = []
    reasons: dict[tuple[object, ...], list[str]] = {}
    for spec in ATTACKS.all():
        if not spec.run_all or spec.run is None:
            continue
        reason = missing_input(spec, given)
        if not reason:
            try:
                findings += spec.run(given)
            except DiscreetError as error:
                reason = str(error)
        if reason:  # attacks that read the same and need the same are named together
            reasons.setdefault((spec.target, spec.needs, reason), []).append(spec.name)
    not_tried = {", ".join(names): str(key[-1]) for key, names in reasons.items()}
    return AttackReport(worst_first(findings), {**not_tried, **ATTACKS.broken()})


def missing_input(spec: AttackSpec, given: AttackInput) -> str:
    """Return what `spec` needs and `given` lacks, in words; nothing lacking is empty."""
    lacking = {
        "trial": ("it is for synthetic data (--source and --control)", given.trial is None),
        "known": ("no list of known people was given (--known)", given.known is None),
        "earlier": ("no earlier release (--earlier)", not given.earlier),
        "sensitive": ("no column is named sensitive", not given.release.subject.sensitive),
    }
    return next((lacking[need][0] for need in spec.needs if lacking[need][1]), "")
