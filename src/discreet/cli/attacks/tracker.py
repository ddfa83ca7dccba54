"""`discreet attack tracker`: a forbidden sum put together from permitted ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of

EXAMPLES = """\b
Examples:
  discreet attack tracker people.csv --person "name = 'Ann Lee'" --value age --restrict 10%
  discreet attack tracker people.csv --people 50 --by name --value age --restrict 100 --round 5
  discreet attack tracker people.csv --people 20 --by name --value age \\
      --epsilon 1 --policy policy.yaml
  discreet attack tracker postgresql://server/db?table=people --person "id = 7" --value salary
"""


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--value", required=True, metavar="COLUMN", help="The numbers that are to be learned."
)
@interfaces.people_options
@click.option(
    "--trackers",
    type=click.IntRange(1),
    metavar="N",
    help="Average over N crowds. Default: 100 where answers are rounded or noisy, else 1.",
)
@click.option(
    "--group",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many people the condition may hold for: their sum is learned.",
)
@click.option(
    "--is-there",
    is_flag=True,
    help="The adversary knows that the person is in the table, and asks no counts; so with --epsilon.",
)
@interfaces.knows_rule_option
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    value: str,
    person: str | None,
    people: int | None,
    by: tuple[str, ...] | None,
    public: tuple[str, ...] | None,
    trackers: int | None,
    group: int,
    is_there: bool,
    knows_rule: bool,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Learn one person's number from sums over crowds, found by asking.

    Tried in turn: the question itself, everybody less the others, and trackers: a crowd with and
    without the person, whose sums differ by the person's number. Crowds are found by halving a
    public column, one COUNT each. SOURCE stands behind an interface that the options describe: exact
    without any, restricted, rounded, noisy, or `discreet ask` with --epsilon.
    """
    from discreet.attacks.questions.people import most_common_share
    from discreet.attacks.questions.tracker import TrackerKnowledge, track
    from discreet.sql import build

    is_blurred = choices["step"] is not None or choices["noise"] is not None
    wanted = trackers or (100 if is_blurred else None)
    # Where answers cost, counts would leave less for what is wanted.
    is_priced = choices["epsilon"] is not None
    most = interfaces.tried_count(people) if is_priced else None
    with interfaces.open_target(source, policy=policy, budget=most, choices=choices) as target:
        column = interfaces.value_column(target, value, is_summed=True)
        number = build.column(column.name)
        found = track(
            target.interface,
            interfaces.choose_people(
                target, value=number, person=person, people=people, by=by, group=group
            ),
            value=column.name,
            domains=interfaces.public_domains(target, public, but=[column.name, *(by or ())]),
            known=TrackerKnowledge(
                smallest=target.rules.smallest if knows_rule else None,
                group=group,
                trackers=wanted,
                is_there=is_there or (is_priced and wanted is None),
            ),
            baseline=most_common_share(target.table, number),
        )
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)
