"""The attack small-groups: answers about one or two people, and dominated sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.option_values import read_share
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.input import QuestionInput

DESCRIPTION = """Look at the groups of an answer for those that are one or two people.

A group of one reveals its member's value to all readers; a group of two to the other member. With
--value, sums that few people dominate are found as well.
"""


def _read_dominance(text: str) -> tuple[int, float]:
    """Return the (n, k) rule: how many people may hold at most which share."""
    count, _, share = text.partition(":")
    if not count.isdigit() or int(count) < 1:
        raise ValueError("Write how many people and which share, such as 1:85%.")
    return int(count), read_share(share)


def _run(
    given: QuestionInput,
    *,
    by: Sequence[str],
    value: str | None,
    dominance: tuple[int, float],
) -> Sequence[Finding]:
    from discreet.attacks.questions.small_groups import Dominance, find_small_groups
    from discreet.measure.roles import require_column

    with given.open_interface(1) as interface:
        return find_small_groups(
            interface,
            given.table,
            by=[require_column(given.table, name).name for name in by],
            value=given.number_column(value).name if value else None,
            dominance=Dominance(*dominance),
        )


SPEC = AttackSpec(
    name="small-groups",
    summary="answers about one or two people, and dominated sums",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec("by", "names", "The columns of GROUP BY, such as zip,sex.", required=True),
        OptionSpec("value", "text", "Numbers that are summed in each group.", metavar="COLUMN"),
        OptionSpec(
            "dominance",
            "text",
            "A sum is unsafe when its N largest numbers are more than this share of it.",
            default="1:85%",
            metavar="N:SHARE",
            parse=_read_dominance,
        ),
    ),
    run=_run,
    examples=(
        "discreet attack small-groups people.csv --by zip,sex",
        "discreet attack small-groups people.csv --by town --value salary --dominance 2:80%",
        "discreet attack small-groups people.csv --by sex --epsilon 1 --policy policy.yaml",
    ),
    position=210,
)
