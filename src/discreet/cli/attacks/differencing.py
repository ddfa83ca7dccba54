"""`discreet attack differencing`: what published answers tell together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of

EXAMPLES = """\b
Examples:
  discreet attack differencing people.csv --person "name = 'Ann Lee'" --value age
  discreet attack differencing people.csv --questions published.sql --bounds 0:120
  discreet attack differencing people.csv --questions "SELECT sum(age) FROM people" \\
      --questions "SELECT sum(age) FROM people WHERE zip <> 10115"
"""


class BoundsType(click.ParamType[tuple[float, float]]):
    """The least and the largest number, such as `0:120`."""

    name = "low:high"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, float]:
        """Return the two numbers."""
        low, _, high = str(value).partition(":")
        try:
            ends = float(low), float(high)
        except ValueError:
            ends = (0.0, 0.0)
        if not ends[0] < ends[1]:
            self.fail("Write the least and the largest number, such as 0:120.", param, ctx)
        return ends


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--questions",
    multiple=True,
    metavar="FILE|SQL",
    callback=options.require_name,
    help="What was published: a file of SQL, or a SELECT. Give it as often as needed.",
)
@click.option(
    "--value",
    metavar="COLUMN",
    help="What must not be learned. Default, with --questions: whatever they sum.",
)
@click.option(
    "--bounds", type=BoundsType(), help="Known limits of the summed numbers, such as 0:120."
)
@interfaces.people_options
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    questions: tuple[str, ...],
    value: str | None,
    bounds: tuple[float, float] | None,
    person: str | None,
    people: int | None,
    by: tuple[str, ...] | None,
    public: tuple[str, ...] | None,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Subtract answers from each other until one person is left.

    With --questions: an audit. Whose number follows exactly from all published sums, means and counts
    together? The combination that tells it is shown. With --person or --people: everybody less
    everybody else, asked of the interface that the options describe.
    """
    del public  # nothing is searched here
    if bool(questions) == bool(person or people):
        raise click.UsageError(
            "Say what was published (--questions FILE), or whom to ask about (--person, --people)."
        )
    most = None if choices["epsilon"] is None else 1 + interfaces.tried_count(people)
    with interfaces.open_target(source, policy=policy, budget=most, choices=choices) as target:
        if questions:
            found = _audit_questions(target, questions, value, bounds)
        else:
            is_priced = choices["epsilon"] is not None
            drawn = {"person": person, "people": people, "by": by}
            found = [_attack_interface(target, value, is_priced=is_priced, drawn=drawn)]
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
    judge_and_print(found, tolerance=tolerated, as_json=as_json, report=report)


def _audit_questions(
    target: interfaces.AttackTarget,
    questions: Sequence[str],
    value: str | None,
    bounds: tuple[float, float] | None,
) -> Sequence[Finding]:
    from discreet.attacks.questions.differencing import audit_answers
    from discreet.attacks.questions.published import read_questions
    from discreet.errors import WrongUsage
    from discreet.measure.roles import require_column

    secrets = [require_column(target.table, value).name] if value else []
    trees = read_questions([_question_text(item) for item in questions], target.table)
    found = audit_answers(trees, target.table, secrets=secrets, bounds=bounds)
    if not found:
        what = f"'{value}'" if value else "any column"
        raise WrongUsage(
            f"The questions neither sum nor count {what}, so that nothing secret is in them. Name with "
            "--value what must not be learned."
        )
    return found


def _question_text(item: str) -> str:
    from discreet.errors import SourceNotFound

    if item.lstrip().lower().startswith(("select", "with")):
        return item
    path = Path(item)
    if not path.is_file():
        raise SourceNotFound(f"There is no file '{item}', and it is no SELECT either.")
    return path.read_text("utf-8")


def _attack_interface(
    target: interfaces.AttackTarget,
    value: str | None,
    *,
    is_priced: bool,
    drawn: Mapping[str, Any],
) -> Finding:
    from discreet.attacks.questions.people import most_common_share
    from discreet.attacks.questions.tracker import TrackerKnowledge, track
    from discreet.sql import build

    if value is None:
        raise click.UsageError("Say which number is to be learned: --value salary.")
    column = interfaces.value_column(target, value, is_summed=True)
    number = build.column(column.name)
    return track(
        target.interface,
        interfaces.choose_people(target, value=number, **drawn),
        value=column.name,
        domains=[],
        known=TrackerKnowledge(ways=("complement",), is_there=is_priced),
        baseline=most_common_share(target.table, number),
        attack="differencing",
    )
