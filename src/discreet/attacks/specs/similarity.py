"""The attack similarity: whose class has values that mean nearly the same?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Find the people in RELEASE whose class has values that mean nearly the same.

Three kinds of stomach trouble are three values and one secret; three salaries close together as
well. Groups come from the hierarchy of the column in the policy, order from its type or from the
policy's `values:`.
"""


def _parse_distance(text: str) -> tuple[float | None, float | None]:
    """Return a share of the span such as 20%, or a width such as 5000: (share, width)."""
    text = text.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (text.endswith("%") and number > 100):
        raise ValueError(f"'{text}' is no distance. Write 20% or 5000.")
    return (number / 100, None) if text.endswith("%") else (None, number)


def _run(
    given: AttackInput,
    *,
    within: tuple[float | None, float | None] | None,
    level: int,
) -> Sequence[Finding]:
    from discreet.attacks.classes.similarity import Within, find_similarity

    policy = given.release.policy or given.described
    reach = Within(*within) if within is not None else None
    return [
        found
        for column in given.classes.columns
        for found in find_similarity(column, policy=policy, level=level, within=reach)
    ]


SPEC = AttackSpec(
    name="similarity",
    summary="classes whose values mean nearly the same",
    description=DESCRIPTION,
    target="classes",
    needs=("sensitive",),
    options=(
        OptionSpec(
            "within",
            "text",
            "How close numbers, dates (in days) or ordered values count as alike: a width, or a "
            "share of the span of the middle 90 % of people.",
            metavar="DISTANCE",
            default_text="25%",
            parse=_parse_distance,
        ),
        OptionSpec(
            "level",
            "integer",
            "Which groups of the policy's hierarchy count as alike: 1 is the first above the "
            "values.",
            default=1,
            minimum=1,
        ),
    ),
    run=_run,
    run_all=True,
    by_column=True,
    no_finding="No sensitive column has an order or a hierarchy, so that none of its values are "
    "closer than others. Add `hierarchy:` or `values:` to its policy.",
    examples=(
        "discreet attack similarity release.csv --quasi age,zip --sensitive salary --within 20%",
        "discreet attack similarity release.csv --quasi age,zip --sensitive salary --within 5000",
        "discreet attack similarity release.csv --policy policy.yaml --level 2",
    ),
    position=60,
)
