"""The attack counting: one person's value by counts only."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2
from typing import TYPE_CHECKING

from discreet.attacks.options import KNOWS_RULE, PEOPLE
from discreet.errors import WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.domains import ColumnDomain
    from discreet.attacks.questions.input import QuestionInput

DESCRIPTION = """Learn one person's value by counts, halving what it may be.

A ZIP code among 100,000 takes some 20 counts instead of one per value. Where counts of few people
are refused, the person is counted together with a crowd; where they are rounded, with a crowd at
the edge of a step.
"""


def _read_range(text: str) -> tuple[str, str]:
    low, colon, high = text.partition(":")
    if not (low and colon and high):
        raise ValueError("Write the least and the largest value, such as 0:99999.")
    return low, high


def _run(  # noqa: PLR0913 -- the options of the attack
    given: QuestionInput,
    *,
    value: str,
    between: tuple[str, str] | None,
    person: str | None,
    people: int | None,
    by: Sequence[str] | None,
    public: Sequence[str] | None,
    repeats: int,
    knows_rule: bool,
) -> Sequence[Finding]:
    from discreet.attacks.questions.counting import infer_by_counting
    from discreet.attacks.questions.input import tried_count
    from discreet.attacks.questions.people import most_common_share
    from discreet.sql import build

    domain = _value_domain(given, value, between)
    column = build.column(domain.column)
    # The halving of each person's value, and as many counts to find a crowd.
    most = tried_count(people) * repeats * (2 * ceil(log2(max(2, domain.size))) + 3)
    with given.open_interface(most if given.is_priced else None) as interface:
        found = infer_by_counting(
            interface,
            given.choose_people(value=column, person=person, people=people, by=by),
            domain=domain,
            domains=given.public_domains(public, but=[domain.column, *(by or ())]),
            smallest=given.rules.smallest if knows_rule else None,
            repeats=repeats,
            baseline=most_common_share(given.table, column),
        )
    return [found]


def _value_domain(given: QuestionInput, name: str, between: tuple[str, str] | None) -> ColumnDomain:
    from discreet.attacks.questions.domains import column_domain, make_range
    from discreet.measure.roles import require_column

    column = require_column(given.table, name)
    if between is not None:
        if not column.kind.is_ordered:
            raise WrongUsage(f"'{name}' has no order, so that nothing is between two values of it.")
        try:
            return make_range(column.name, *between, kind=column.kind)
        except ValueError:
            pass
        raise WrongUsage(f"--between does not name two values of '{name}', which is {column.kind}.")
    found = column_domain(given.table, column, policy=given.policy)
    if found is None:
        raise WrongUsage(
            f"'{name}' has too many words to list. Give its values in the policy, or choose another "
            "column."
        )
    return found


SPEC = AttackSpec(
    name="counting",
    summary="one person's value by counts, halving what it may be",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec("value", "text", "What is to be learned.", required=True, metavar="COLUMN"),
        OptionSpec(
            "between",
            "text",
            "The public range of the value. Default: the policy's bounds or values, else the table's.",
            metavar="LOW:HIGH",
            parse=_read_range,
        ),
        *PEOPLE,
        OptionSpec(
            "repeats",
            "integer",
            "Ask each count N times and take the mean, where answers are noisy.",
            default=1,
            minimum=1,
        ),
        KNOWS_RULE,
    ),
    run=_run,
    examples=(
        """discreet attack counting people.csv --person "name = 'Ann Lee'" --value zip \\
    --between 0:99999""",
        """discreet attack counting people.csv --person "name = 'Ann Lee'" --value illness \\
    --restrict 10%""",
        """discreet attack counting people.csv --people 20 --by name --value illness \\
    --epsilon 1 --policy policy.yaml""",
    ),
    position=190,
)
