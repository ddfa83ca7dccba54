"""`discreet attack averaging`: noise averaged away, in the same words and in others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of

EXAMPLES = """\b
Examples:
  discreet attack averaging people.csv --person "name = 'Ann Lee'" --condition "ill = 'flu'" \\
      --noise laplace:5 --repeats 550
  discreet attack averaging people.csv --people 20 --by name --condition "ill = 'flu'" \\
      --noise laplace:1 --sticky
  discreet attack averaging people.csv --people 20 --by name --condition "ill = 'flu'" --epsilon 1
"""


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--condition",
    required=True,
    metavar="CONDITION",
    help="What is to be learned: whether this holds for the person.",
)
@interfaces.people_options
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="How often each question is asked.",
)
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    condition: str,
    person: str | None,
    people: int | None,
    by: tuple[str, ...] | None,
    public: tuple[str, ...] | None,
    repeats: int,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Ask the same noisy question again and again, and take the mean.

    Two findings: the same words each time, and other words that mean the same (`x > 10`,
    `NOT x <= 10`, `x + 0 > 10` …), which noise that sticks to a text does not stop.
    """
    from discreet.attacks.questions.averaging import average_out
    from discreet.attacks.questions.people import most_common_share, read_person_condition

    del public  # nothing is searched here
    most = None if choices["epsilon"] is None else 2 * repeats * interfaces.tried_count(people)
    with interfaces.open_target(source, policy=policy, budget=most, choices=choices) as target:
        asked = read_person_condition(condition, target.table)
        drawn = interfaces.choose_people(target, value=asked, person=person, people=people, by=by)
        baseline = most_common_share(target.table, asked)
        found = [
            average_out(
                target.interface,
                drawn,
                condition=asked,
                repeats=repeats,
                way=way,
                baseline=baseline,
            )
            for way in ("repeated", "reworded")
        ]
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
    judge_and_print(found, tolerance=tolerated, as_json=as_json, report=report)
