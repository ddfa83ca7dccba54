"""`discreet attack counting`: one person's value by counts only."""

from __future__ import annotations

from math import ceil, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.engines.engine import Table
from discreet.policy import model

if TYPE_CHECKING:
    from discreet.attacks.questions.domains import ColumnDomain

EXAMPLES = """\b
Examples:
  discreet attack counting people.csv --person "name = 'Ann Lee'" --value zip --between 0:99999
  discreet attack counting people.csv --person "name = 'Ann Lee'" --value illness --restrict 10%
  discreet attack counting people.csv --people 20 --by name --value illness \\
      --epsilon 1 --policy policy.yaml
"""


class RangeType(click.ParamType[tuple[str, str]]):
    """Two ends such as `0:99999` or `1920-01-01:2010-12-31`."""

    name = "low:high"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return the ends as they were written."""
        low, colon, high = str(value).partition(":")
        if not (low and colon and high):
            self.fail("Write the least and the largest value, such as 0:99999.", param, ctx)
        return low, high


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option("--value", required=True, metavar="COLUMN", help="What is to be learned.")
@click.option(
    "--between",
    type=RangeType(),
    help="What everybody knows of its range. Default: the policy's bounds or values, else the table's.",
)
@interfaces.people_options
@click.option(
    "--repeats",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Ask each count N times and take the mean, where answers are noisy.",
)
@interfaces.knows_rule_option
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    value: str,
    between: tuple[str, str] | None,
    person: str | None,
    people: int | None,
    by: tuple[str, ...] | None,
    public: tuple[str, ...] | None,
    repeats: int,
    knows_rule: bool,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Find out one person's value by counts, halving what it may be.

    A ZIP code among 100,000 takes some 20 counts instead of one per value. Where counts of few people
    are refused, the person is counted together with a crowd; where they are rounded, with a crowd at
    the edge of a step.
    """
    from discreet.attacks.questions.counting import infer_by_counting
    from discreet.attacks.questions.people import most_common_share
    from discreet.sql import build

    def most(table: Table, said: model.TablePolicy | None) -> int:
        return (
            interfaces.tried_count(people)
            * repeats
            * _counts_per_person(_value_domain(table, said, value, between))
        )

    budget = None if choices["epsilon"] is None else most
    with interfaces.open_target(source, policy=policy, budget=budget, choices=choices) as target:
        domain = _value_domain(target.table, target.said, value, between)
        column = build.column(domain.column)
        found = infer_by_counting(
            target.interface,
            interfaces.choose_people(target, value=column, person=person, people=people, by=by),
            domain=domain,
            domains=interfaces.public_domains(target, public, but=[domain.column, *(by or ())]),
            smallest=target.rules.smallest if knows_rule else None,
            repeats=repeats,
            baseline=most_common_share(target.table, column),
        )
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)


def _counts_per_person(domain: ColumnDomain) -> int:
    """Return how many counts one person takes: the halving, and as many to find a crowd."""
    return 2 * ceil(log2(max(2, domain.size))) + 3


def _value_domain(
    table: Table, said: model.TablePolicy | None, name: str, between: tuple[str, str] | None
) -> ColumnDomain:
    from discreet.attacks.questions.domains import column_domain, make_range
    from discreet.errors import WrongUsage
    from discreet.measure.roles import require_column

    column = require_column(table, name)
    if between is not None:
        if not column.kind.is_ordered:
            raise WrongUsage(f"'{name}' has no order, so that nothing is between two values of it.")
        try:
            return make_range(column.name, *between, kind=column.kind)
        except ValueError:
            pass
        raise WrongUsage(f"--between does not name two values of '{name}', which is {column.kind}.")
    found = column_domain(table, column, policy=said)
    if found is None:
        raise WrongUsage(
            f"'{name}' has too many words to list. Give its values in the policy, or choose another "
            "column."
        )
    return found
