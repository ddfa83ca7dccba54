"""The meaning of numbers in sentences, for custodians."""

from __future__ import annotations

from discreet.formatting import format_percent, join_names
from discreet.measure.assessment import Assessment

SAFE_CLASS = 5  # the least that statistical offices commonly require


def explain_assessment(found: Assessment) -> tuple[str, ...]:
    """Return, in two sentences, what the finding means for the people in the table."""
    if found.k is None or found.suppressed == found.rows:
        return (
            "Every row withholds all columns that outsiders may know, so no one can be looked up.",
            "What the other columns hold can still be published about the group as a whole.",
        )
    knows = _known_columns(found)
    if found.unique:
        share = format_percent(found.unique / found.people)
        return (
            (
                f"An outsider who knows {knows} of a person in this table, as a neighbor, an employer or a "
                f"public register may, can pick out that person's record with certainty for "
                f"{found.unique:,} of {found.people:,} people ({share}) and read everything else in it."
            ),
            (
                "With or without names, the records of these people are identifiable: do not treat this "
                "table as anonymous."
            ),
        )
    first = (
        f"No one's record can be picked out with certainty by an outsider who knows {knows}: at least "
        f"{found.k:,} people always look alike, so a guess is right at best once in {found.k:,} times."
    )
    if found.k < SAFE_CLASS:
        second = (
            f"That is a small class: where fewer than {SAFE_CLASS} people look alike, a guess is too "
            "often right, and what they have in common is known without any guess."
        )
    elif found.criteria and not found.holds:
        second = "What a class has in common can still be read off it: see the criteria that fail."
    else:
        second = (
            "This protects against outsiders who know those columns and no others: whether they "
            "may know more is for you to judge."
        )
    return first, second


def _known_columns(found: Assessment) -> str:
    few = len(found.quasi) <= 5
    return f"the {join_names(found.quasi)}" if few else f"the {len(found.quasi)} quasi-identifiers"


def round_share(share: float) -> str:
    """Return a chosen share with as few digits as it needs.

    >>> round_share(0.2), round_share(0.075)
    ('20 %', '7.5 %')
    """
    return f"{100 * share:g} %"


def chance_of_finding(size: int) -> str:
    """Return the chance of finding a person in a class of `size` people."""
    return "certain" if size == 1 else f"1 in {size:,}"


def computation_notes(found: Assessment, *, source: str) -> tuple[tuple[str, str], ...]:
    """Return how the numbers came about, as pairs of a heading and a statement."""
    unit = (
        f"All rows with the same {found.unit} belong to one person. A person in several classes "
        "counts once in each of them."
        if found.unit
        else "Each row is taken for one person."
    )
    roles = "guessed from names and contents" if found.roles_guessed else "stated by the custodian"
    suppressed = (
        f"{found.suppressed:,} rows are suppressed: each of their quasi-identifiers is `*` or "
        "missing, and at least one is `*`. They are in no class."
        if found.suppressed
        else "No row is suppressed (`*` or missing in every quasi-identifier)."
    )
    return (
        ("Source", f"{source}, {found.rows:,} rows, all of them read."),
        ("People", f"{found.people:,}. {unit}"),
        (
            "Quasi-identifiers",
            f"{join_names(found.quasi)}. The roles of the columns were {roles}.",
        ),
        (
            "Missing values",
            (
                "A missing quasi-identifier is a value like any other: people who miss it look alike. A "
                "missing sensitive value counts as one value of its own."
            ),
        ),
        ("Suppressed rows", suppressed),
        (
            "At risk",
            (
                "A person whose chance of being found is above "
                f"{round_share(found.risk.prosecutor.threshold)}."
            ),
        ),
    )
