"""The attack averaging: noise averaged away, in the same words and in others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import PEOPLE
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.input import QuestionInput

DESCRIPTION = """Ask the same noisy question again and again, and take the mean.

Two findings: the same words each time, and other words that mean the same (`x > 10`,
`NOT x <= 10`, `x + 0 > 10` …), which noise that sticks to a text does not stop.
"""


def _run(
    given: QuestionInput,
    *,
    condition: str,
    person: str | None,
    people: int | None,
    by: Sequence[str] | None,
    public: Sequence[str] | None,
    repeats: int,
) -> Sequence[Finding]:
    from discreet.attacks.questions.averaging import average_out
    from discreet.attacks.questions.input import tried_count
    from discreet.attacks.questions.people import most_common_share, read_person_condition

    del public  # nothing is searched here
    most = 2 * repeats * tried_count(people) if given.is_priced else None
    asked = read_person_condition(condition, given.table)
    drawn = given.choose_people(value=asked, person=person, people=people, by=by)
    baseline = most_common_share(given.table, asked)
    with given.open_interface(most) as interface:
        return [
            average_out(
                interface,
                drawn,
                condition=asked,
                repeats=repeats,
                way=way,
                baseline=baseline,
            )
            for way in ("repeated", "reworded")
        ]


SPEC = AttackSpec(
    name="averaging",
    summary="noise averaged away, in the same words and in others",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec(
            "condition",
            "text",
            "What is to be learned: whether this holds for the person.",
            required=True,
            metavar="CONDITION",
        ),
        *PEOPLE,
        OptionSpec(
            "repeats", "integer", "How often each question is asked.", default=100, minimum=1
        ),
    ),
    run=_run,
    examples=(
        """discreet attack averaging people.csv --person "name = 'Ann Lee'" \\
    --condition "ill = 'flu'" --noise laplace:5 --repeats 550""",
        """discreet attack averaging people.csv --people 20 --by name --condition "ill = 'flu'" \\
    --noise laplace:1 --sticky""",
        """discreet attack averaging people.csv --people 20 --by name --condition "ill = 'flu'" \\
    --epsilon 1""",
    ),
    position=200,
)
