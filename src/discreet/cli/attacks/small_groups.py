"""`discreet attack small-groups`: answers about one or two people, and dominated sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import (
    ToleranceType,
    finding_options,
    judge_and_print,
    tolerance_of,
)

EXAMPLES = """\b
Examples:
  discreet attack small-groups people.csv --by zip,sex
  discreet attack small-groups people.csv --by town --value salary --dominance 2:80%
  discreet attack small-groups people.csv --by sex --epsilon 1 --policy policy.yaml
"""


class DominanceRuleType(click.ParamType[tuple[int, float]]):
    """The (n, k) rule, such as `1:85%`."""

    name = "n:share"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float]:
        """Return how many people may hold at most which share."""
        count, _, share = str(value).partition(":")
        if not count.isdigit() or int(count) < 1:
            self.fail("Write how many people and which share, such as 1:85%.", param, ctx)
        return int(count), ToleranceType().convert(share, param, ctx)


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--by", type=options.NAMES, required=True, help="The columns of GROUP BY, such as zip,sex."
)
@click.option("--value", metavar="COLUMN", help="Numbers that are summed in each group.")
@click.option(
    "--dominance",
    type=DominanceRuleType(),
    default="1:85%",
    show_default=True,
    help="A sum is unsafe when its N largest numbers are more than this share of it.",
)
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    by: tuple[str, ...],
    value: str | None,
    dominance: tuple[int, float],
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Look at the groups of an answer for those that are one or two people.

    A group of one tells its member's value to everybody; a group of two to the other member. With
    --value, sums that few people dominate are found as well.
    """
    from discreet.attacks.questions.small_groups import Dominance, find_small_groups
    from discreet.measure.roles import require_column

    with interfaces.open_target(source, policy=policy, budget=1, choices=choices) as target:
        column = interfaces.value_column(target, value, is_summed=True) if value else None
        found = find_small_groups(
            target.interface,
            target.table,
            by=[require_column(target.table, name).name for name in by],
            value=column.name if column else None,
            dominance=Dominance(*dominance),
        )
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
    judge_and_print(found, tolerance=tolerated, as_json=as_json, report=report)
