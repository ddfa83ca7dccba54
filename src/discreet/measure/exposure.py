"""What criteria do not look at and a reader sees all the same, held against its tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.assessment import Assessment, Exposure, SensitiveColumn
from discreet.policy import model
from discreet.policy.attack_tolerance import release_tolerance, tolerance_of_attack

if TYPE_CHECKING:
    from discreet.measure.joint import JointUniqueness


def find_exposures(found: Assessment, policy: model.TablePolicy | None) -> tuple[Exposure, ...]:
    """Return what a release of the table as it is would expose, worst first."""
    allowed = release_tolerance(policy)
    people = max(found.people, 1)
    exposures = [
        _make_exposure(
            "uniqueness",
            found.joint.exposed / people,
            allowed,
            people=found.joint.exposed,
            column=found.joint.secret,
            words=joint_sentence(found.joint),
        ),
        *(
            _make_exposure(
                "homogeneity",
                # One value in the whole table is revealed without any class.
                min(column.homogeneous / people, 1.0) if _has_choice(column) else 0.0,
                allowed,
                people=column.homogeneous,
                column=name,
                words=homogeneous_sentence(name, column.homogeneous, people=people),
            )
            for name, column in found.sensitive.items()
        ),
    ]
    return tuple(sorted(exposures, key=lambda one: (not one.exceeds, -one.share, one.attack)))


def joint_sentence(joint: JointUniqueness) -> str:
    """Return how many people are alone on what stays, and on how little of it."""
    if not joint.exposed:
        return "No one is alone on the columns that stay."
    who = format_count(joint.exposed, "person", "people")
    share = format_percent(joint.exposed / max(joint.people, 1))
    others = f"but {joint.secret}, which is thereby learned" if joint.secret else "together"
    text = f"{who} of {joint.people:,} ({share}) {_agreeing_verb(joint.exposed)} alone on the columns that stay, all {others}"
    few = join_names(joint.enough) if len(joint.enough) <= 6 else f"{len(joint.enough)} columns"
    are = "is" if len(joint.enough) == 1 else "are"
    return f"{text}; {few} {are} enough for {joint.enough_unique:,}."


def homogeneous_sentence(column: str, exposed: int, *, people: int) -> str:
    """Return how many people's sensitive value follows from their class."""
    if not exposed:
        return f"No one's {column} follows from their class."
    who = format_count(exposed, "person", "people")
    return (
        f"The {column} of {who} of {people:,} ({format_percent(min(exposed / max(people, 1), 1.0))}) follows "
        "from their class, in which all share one value."
    )


def _agreeing_verb(number: int) -> str:
    return "is" if number == 1 else "are"


def _has_choice(column: SensitiveColumn) -> bool:
    return column.values - (column.missing > 0) > 1


def _make_exposure(
    attack: str,
    share: float,
    allowed: Mapping[str, float],
    *,
    people: int,
    column: str | None,
    words: str,
) -> Exposure:
    tolerance = tolerance_of_attack(allowed, attack)
    limit = 1.0 if tolerance is None else tolerance
    return Exposure(attack, column, people, share, limit, share > limit, words)
