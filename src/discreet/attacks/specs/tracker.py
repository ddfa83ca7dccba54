"""The attack tracker: a forbidden sum put together from permitted ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import KNOWS_RULE, PEOPLE
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.input import QuestionInput

DESCRIPTION = """Learn one person's number from sums over crowds, found by asking.

Tried in turn: the question itself, all people less the others, and trackers: a crowd with and
without the person, whose sums differ by the person's number. Crowds are found by halving a
public column, one COUNT each. SOURCE stands behind an interface that the options describe: exact
without any, restricted, rounded, noisy, or `discreet ask` with --epsilon.
"""


def _run(  # noqa: PLR0913 -- the options of the attack
    given: QuestionInput,
    *,
    value: str,
    person: str | None,
    people: int | None,
    by: Sequence[str] | None,
    public: Sequence[str] | None,
    trackers: int | None,
    group: int,
    is_there: bool,
    knows_rule: bool,
) -> Sequence[Finding]:
    from discreet.attacks.questions.input import tried_count
    from discreet.attacks.questions.people import most_common_share
    from discreet.attacks.questions.tracker import TrackerKnowledge, track
    from discreet.sql import build

    is_blurred = given.rules.step is not None or given.rules.noise is not None
    wanted = trackers or (100 if is_blurred else None)
    column = given.number_column(value)
    number = build.column(column.name)
    # Where answers cost, counts would leave less for what is wanted.
    with given.open_interface(tried_count(people) if given.is_priced else None) as interface:
        found = track(
            interface,
            given.choose_people(value=number, person=person, people=people, by=by, group=group),
            value=column.name,
            domains=given.public_domains(public, but=[column.name, *(by or ())]),
            known=TrackerKnowledge(
                smallest=given.rules.smallest if knows_rule else None,
                group=group,
                trackers=wanted,
                is_there=is_there or (given.is_priced and wanted is None),
            ),
            baseline=most_common_share(given.table, number),
        )
    return [found]


SPEC = AttackSpec(
    name="tracker",
    summary="a forbidden sum put together from permitted ones",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec(
            "value",
            "text",
            "The numbers that are to be learned.",
            required=True,
            metavar="COLUMN",
        ),
        *PEOPLE,
        OptionSpec(
            "trackers",
            "integer",
            "Average over N crowds. Default: 100 where answers are rounded or noisy, else 1.",
            minimum=1,
        ),
        OptionSpec(
            "group",
            "integer",
            "How many people the condition may hold for: their sum is learned.",
            default=1,
            minimum=1,
        ),
        OptionSpec(
            "is_there",
            "flag",
            "The adversary knows that the person is in the table, and asks no counts; so with "
            "--epsilon.",
        ),
        KNOWS_RULE,
    ),
    run=_run,
    examples=(
        """discreet attack tracker people.csv --person "name = 'Ann Lee'" --value age \\
    --restrict 10%""",
        "discreet attack tracker people.csv --people 50 --by name --value age --restrict 100 --round 5",
        """discreet attack tracker people.csv --people 20 --by name --value age \\
    --epsilon 1 --policy policy.yaml""",
        """discreet attack tracker postgresql://server/db?table=people --person "id = 7" \\
    --value salary""",
    ),
    position=180,
)
