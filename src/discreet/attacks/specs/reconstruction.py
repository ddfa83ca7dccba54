"""The attack reconstruction: every person's secret from counts of groups, solved all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, DetailTable, OptionSpec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.attacks.finding import Finding
    from discreet.attacks.questions.input import QuestionInput
    from discreet.attacks.reconstruction.belief import NoiseBelief
    from discreet.attacks.reconstruction.questions import Roster, Subsets

DESCRIPTION = """Compute every person's secret from counts of groups, none of which is about one person.

The adversary asks how many people of a group have the secret, for many groups of about half of
the people, and solves for all bits at once (Dinur & Nissim 2003). SOURCE stands behind an
interface that the options describe: exact without any, restricted, rounded, noisy, or
`discreet ask` with --epsilon, which is then the price of all questions together.
"""
AT_ONCE = 64  # counts in one question, where no rule looks at the size of each


def _run(
    given: QuestionInput,
    *,
    value: str,
    by: Sequence[str] | None,
    questions: int | None,
    subsets: Subsets | None,
    assume: str | None,
    find_limit: bool,
) -> Sequence[Finding]:
    from discreet.attacks.questions.people import read_person_condition
    from discreet.attacks.reconstruction.attack import reconstruct_bits
    from discreet.attacks.reconstruction.people import invent_people, public_columns, read_roster

    believed = _assumed_belief(given, assume)
    asked = questions or _default_questions(given, subsets)
    condition = read_person_condition(value, given.table)
    roster, truth = read_roster(given.table, by=public_columns(given.table, by), value=condition)
    form = subsets or _subset_form(given, roster)
    absent = None if form == "all" else invent_people(roster, count=_absent_count(roster.people))
    with given.open_interface(asked if given.is_priced else None) as interface:
        found = reconstruct_bits(
            interface,
            roster,
            value=condition,
            truth=truth,
            questions=asked,
            subsets=form,
            belief=believed,
            absent=absent,
            at_once=_counts_at_once(given, form),
            chance=given.rng,
            step=given.progress,
        )
    return [_with_limit(given, found, truth, asked) if find_limit else found]


def _absent_count(people: int) -> int:
    """Return how many people who are not in the table the adversary believes to be in it."""
    return max(1, people // 20)


def _default_questions(given: QuestionInput, subsets: str | None) -> int:
    """Return 4 questions for each person the adversary asks about, or one for each group."""
    from discreet.attacks.questions.input import count_rows
    from discreet.attacks.reconstruction.attack import PER_PERSON
    from discreet.attacks.reconstruction.exhaustive import MOST_PEOPLE

    people = count_rows(given.table)
    if subsets == "all" and people <= MOST_PEOPLE:
        return 1 << people
    return PER_PERSON * (people + _absent_count(people))


def _assumed_belief(given: QuestionInput, assume: str | None) -> NoiseBelief:
    """Return what is written, else what is true of the interface: a rule is no secret for long."""
    from discreet.attacks.reconstruction.belief import UNKNOWN, NoiseBelief, read_belief

    if assume is not None:
        return read_belief(assume)
    if given.is_priced:
        return NoiseBelief("laplace")
    step, noise = given.rules.step, given.rules.noise
    if noise is not None:
        bound = noise.scale if noise.shape == "uniform" else None
        return NoiseBelief(UNKNOWN if step is not None else noise.shape, bound)
    return NoiseBelief("uniform", step / 2) if step is not None else NoiseBelief("gaussian", 0.0)


def _subset_form(given: QuestionInput, roster: Roster) -> Subsets:
    """Return groups that the interface can be asked for: `discreet ask` knows no hashes."""
    if not given.is_priced:
        return "hash"
    return "list" if roster.numbers is None else "arithmetic"


def _counts_at_once(given: QuestionInput, form: str) -> int:
    rules = given.rules
    is_watched = rules.smallest > 0 or not rules.allows_all or rules.overlap is not None
    return 1 if is_watched or given.is_priced or form in ("list", "all") else AT_ONCE


def _with_limit(
    given: QuestionInput, found: Finding, truth: NDArray[np.bool_], questions: int
) -> Finding:
    from dataclasses import replace

    from discreet.attacks.reconstruction.limit import measure_limit

    groups = given.rng.random((questions, truth.size)) < 0.5
    trials = measure_limit(groups, truth, chance=given.rng)
    return replace(found, details={**found.details, "limit": [vars(trial) for trial in trials]})


SPEC = AttackSpec(
    name="reconstruction",
    summary="every person's secret from counts of groups, solved all at once",
    description=DESCRIPTION,
    target="answers",
    options=(
        OptionSpec(
            "value",
            "text",
            "The secret: whether this holds for a person, such as \"diagnosis = 'HIV'\".",
            required=True,
            metavar="CONDITION",
        ),
        OptionSpec(
            "by",
            "names",
            "Public columns that people are known by. Default: the first that identifies all.",
        ),
        OptionSpec(
            "questions",
            "integer",
            "Groups to ask for. Default: 4 a person.",
            minimum=1,
        ),
        OptionSpec(
            "subsets",
            "choice",
            "How questions name groups: by bits of MD5, by arithmetic on a number, person by person, "
            "or all groups there are (20 people at most, every table tried). Default: what is "
            "understood.",
            choices=("hash", "arithmetic", "list", "all"),
        ),
        OptionSpec(
            "assume",
            "text",
            "What the adversary believes: gaussian, uniform:5, laplace, outliers or unknown. "
            "Default: how the interface really is.",
            metavar="NOISE",
        ),
        OptionSpec(
            "find_limit", "flag", "Also report how much noise would have stopped it, by trial."
        ),
    ),
    run=_run,
    tables=(
        DetailTable(
            "limit",
            "How much noise stops it",
            {
                "noise": ("sd of the noise", ".3g"),
                "expected": ("right by the formula", ".3f"),
                "measured": ("right by trial", ".3f"),
            },
        ),
    ),
    examples=(
        """discreet attack reconstruction people.csv --value "diagnosis = 'HIV'" --round 10""",
        """discreet attack reconstruction people.csv --value "salary > 50000" --by name \\
    --noise laplace:5""",
        """discreet attack reconstruction people.csv --value "smokes" --find-limit""",
        """discreet attack reconstruction people.csv --value "diagnosis = 'HIV'" \\
    --epsilon 1 --policy policy.yaml""",
    ),
    position=220,
)
