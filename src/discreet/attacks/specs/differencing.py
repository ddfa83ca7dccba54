"""The attack differencing: one person left over when answers are subtracted from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.attacks.options import PEOPLE
from discreet.errors import SourceNotFound, WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.input import QuestionInput

DESCRIPTION = """Subtract answers from each other until one person is left.

With --questions: an audit. Whose number follows exactly from all published sums, means and counts
together? The combination that reveals it is shown. With --person or --people: all people less
all others, asked of the interface that the options describe.
"""


def _read_bounds(text: str) -> tuple[float, float]:
    low, _, high = text.partition(":")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = (0.0, 0.0)
    if not ends[0] < ends[1]:
        raise ValueError("Write the least and the largest number, such as 0:120.")
    return ends


def _run(
    given: QuestionInput,
    *,
    questions: Sequence[str],
    value: str | None,
    bounds: tuple[float, float] | None,
    public: Sequence[str] | None,
    **people: Any,
) -> Sequence[Finding]:
    del public  # nothing is searched here
    if bool(questions) == bool(people["person"] or people["people"]):
        raise WrongUsage(
            "Say what was published (--questions FILE), or whom to ask about (--person, --people)."
        )
    if questions:
        return _audit_questions(given, questions, value, bounds)
    return [_attack_interface(given, value, people)]


def _audit_questions(
    given: QuestionInput,
    questions: Sequence[str],
    value: str | None,
    bounds: tuple[float, float] | None,
) -> Sequence[Finding]:
    from discreet.attacks.questions.differencing import audit_answers
    from discreet.attacks.questions.published import read_questions
    from discreet.measure.roles import require_column

    secrets = [require_column(given.table, value).name] if value else []
    trees = read_questions([_question_text(item) for item in questions], given.table)
    found = audit_answers(trees, given.table, secrets=secrets, bounds=bounds)
    if not found:
        what = f"'{value}'" if value else "any column"
        raise WrongUsage(
            f"The questions neither sum nor count {what}, so that nothing secret is in them. Name with "
            "--value what must not be learned."
        )
    return found


def _question_text(item: str) -> str:
    if item.lstrip().lower().startswith(("select", "with")):
        return item
    path = Path(item)
    if not path.is_file():
        raise SourceNotFound(f"There is no file '{item}', and it is no SELECT either.")
    return path.read_text("utf-8")


def _attack_interface(
    given: QuestionInput, value: str | None, people: Mapping[str, Any]
) -> Finding:
    from discreet.attacks.questions.input import tried_count
    from discreet.attacks.questions.people import most_common_share
    from discreet.attacks.questions.tracker import TrackerKnowledge, track
    from discreet.sql import build

    if value is None:
        raise WrongUsage("Say which number is to be learned: --value salary.")
    column = given.number_column(value)
    number = build.column(column.name)
    most = 1 + tried_count(people["people"]) if given.is_priced else None
    with given.open_interface(most) as interface:
        return track(
            interface,
            given.choose_people(value=number, **people),
            value=column.name,
            domains=[],
            known=TrackerKnowledge(ways=("complement",), is_there=given.is_priced),
            baseline=most_common_share(given.table, number),
            attack="differencing",
        )


SPEC = AttackSpec(
    name="differencing",
    summary="one person left over when published answers are subtracted",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec(
            "questions",
            "source",
            "What was published: a file of SQL, or a SELECT. May be repeated.",
            repeated=True,
            metavar="FILE|SQL",
        ),
        OptionSpec(
            "value",
            "text",
            "What must not be learned. Default, with --questions: what they sum.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "bounds",
            "text",
            "Known limits of the summed numbers, such as 0:120.",
            metavar="LOW:HIGH",
            parse=_read_bounds,
        ),
        *PEOPLE,
    ),
    run=_run,
    examples=(
        """discreet attack differencing people.csv --person "name = 'Ann Lee'" --value age""",
        "discreet attack differencing people.csv --questions published.sql --bounds 0:120",
        """discreet attack differencing people.csv --questions "SELECT sum(age) FROM people" \\
    --questions "SELECT sum(age) FROM people WHERE zip <> 10115\"""",
    ),
    position=170,
)
