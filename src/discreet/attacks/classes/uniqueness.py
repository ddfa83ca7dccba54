"""Uniqueness: people who are alone on all that is published, whatever the roles of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.attacks.finding import Finding, make_finding
from discreet.formatting import format_count, format_percent
from discreet.measure.exposure import joint_sentence

if TYPE_CHECKING:
    from discreet.measure.joint import JointUniqueness


def find_uniqueness(joint: JointUniqueness, *, target: str) -> Finding:
    """Return who is alone on the published columns, all but one sensitive column that is learned.

    Classes are made of quasi-identifiers only: an adversary who knows a few of the other columns may single
    out a person in a class of any size.
    """
    known = format_count(joint.columns - (joint.secret is not None), "column", "columns")
    return make_finding(
        "uniqueness",
        target=target,
        verdict=joint_sentence(joint),
        targets=joint.people,
        exposed=joint.exposed,
        baseline=0.0,
        knowledge=f"What is published of a person in {known}, or in the few that are enough.",
        remedy="Publish fewer columns (--leave-out a,b) or coarser ones, or give those that outsiders may "
        "know the role quasi-identifier.",
        details={
            "columns": [joint.secret] if joint.secret else [],
            "published": joint.columns,
            "unique_on_all": joint.unique,
            "enough": list(joint.enough),
            "unique_on_enough": joint.enough_unique,
        },
    )


def find_linked_rows(joint: JointUniqueness, *, target: str, link: str) -> Finding:
    """Return who is alone on all their rows together, which the pseudonyms in `link` put together."""
    share = format_percent(joint.exposed / max(joint.people, 1))
    who = f"{format_count(joint.exposed, 'person', 'people')} of {joint.people:,} ({share})"
    but = f" but {joint.secret}, which is thereby learned" if joint.secret else ""
    return make_finding(
        "uniqueness",
        target=target,
        verdict=f"{who} {'is' if joint.exposed == 1 else 'are'} alone on their rows together, which {link} "
        f"links, on all columns that stay{but}.",
        targets=joint.people,
        exposed=joint.exposed,
        baseline=0.0,
        knowledge=f"What is published of a person in all rows that have the same value of {link}.",
        remedy=f"Leave {link} out (--leave-out {link}), publish fewer columns, or one row for each person.",
        details={
            "columns": [joint.secret] if joint.secret else [],
            "published": joint.columns,
            "unique_on_all": joint.unique,
            "linked_by": link,
        },
    )
