"""`discreet attack reconstruction`: everybody's secret from counts of groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options, output
from discreet.cli.attacks import interfaces
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.attacks.questions.laboratory import LaboratoryRules
    from discreet.attacks.reconstruction.belief import NoiseBelief
    from discreet.attacks.reconstruction.questions import Roster, Subsets

EXAMPLES = """\b
Examples:
  discreet attack reconstruction people.csv --value "diagnosis = 'HIV'" --round 10
  discreet attack reconstruction people.csv --value "salary > 50000" --by name --noise laplace:5
  discreet attack reconstruction people.csv --value "smokes" --find-limit
  discreet attack reconstruction people.csv --value "diagnosis = 'HIV'" \\
      --epsilon 1 --policy policy.yaml
"""
AT_ONCE = 64  # counts in one question, where no rule looks at the size of each


@click.command(epilog=EXAMPLES)
@options.source_argument
@click.option(
    "--value",
    required=True,
    metavar="CONDITION",
    help="The secret: whether this holds for a person, such as \"diagnosis = 'HIV'\".",
)
@click.option(
    "--by",
    type=options.NAMES,
    help="Public columns that people are known by. Default: the first that tells all apart.",
)
@click.option(
    "--questions",
    type=click.IntRange(1),
    metavar="N",
    help="Groups to ask for. Default: 4 a person.",
)
@click.option(
    "--subsets",
    type=options.SuggestingChoice(["hash", "arithmetic", "list", "all"]),
    help="How questions name groups: by bits of MD5, by arithmetic on a number, person by person, "
    "or all groups there are (20 people at most, every table tried). Default: what is understood.",
)
@click.option(
    "--assume",
    metavar="NOISE",
    help="What the adversary believes: gaussian, uniform:5, laplace, outliers or unknown. "
    "Default: how the interface really is.",
)
@click.option(
    "--find-limit", is_flag=True, help="Also tell how much noise would have stopped it, by trial."
)
@interfaces.interface_options
@finding_options
def command(
    source: str,
    *,
    value: str,
    by: tuple[str, ...] | None,
    questions: int | None,
    subsets: Subsets | None,
    assume: str | None,
    find_limit: bool,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **choices: Any,
) -> None:
    """Work out everybody's secret from counts of groups, none of which is about anybody.

    The adversary asks how many people of a group have the secret, for many groups of about half of
    the people, and solves for all bits at once (Dinur & Nissim 2003). SOURCE stands behind an
    interface that the options describe: exact without any, restricted, rounded, noisy, or
    `discreet ask` with --epsilon, which is then the price of all questions together.
    """
    from discreet.attacks.questions.people import read_person_condition
    from discreet.attacks.reconstruction.attack import reconstruct_bits
    from discreet.attacks.reconstruction.people import invent_people, public_columns, read_roster

    believed = _assumed_belief(assume, choices)
    asked = questions or _default_questions(source, subsets, choices)
    most = asked if choices["epsilon"] is not None else None
    with (
        interfaces.open_target(source, policy=policy, budget=most, choices=choices) as target,
        output.progress() as step,
    ):
        condition = read_person_condition(value, target.table)
        columns = public_columns(target.table, by)
        roster, truth = read_roster(target.table, by=columns, value=condition)
        kind = subsets or _subset_form(roster, is_private=choices["epsilon"] is not None)
        found = reconstruct_bits(
            target.interface,
            roster,
            value=condition,
            truth=truth,
            questions=asked,
            subsets=kind,
            belief=believed,
            absent=None if kind == "all" else invent_people(roster, count=absent_of(roster.people)),
            at_once=_counts_at_once(target.rules, kind, choices),
            chance=target.chance,
            step=step,
        )
        tolerated = tolerance_of(
            policy, tolerance=tolerance, table=choices["table"], label=target.table.label
        )
        if find_limit:
            found = _with_limit(found, truth, questions=asked, chance=target.chance)
    if find_limit and not as_json:
        _show_limit(found)
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)


def absent_of(people: int) -> int:
    """Return how many people who are not in the table the adversary believes to be in it."""
    return max(1, people // 20)


def _default_questions(source: str, subsets: str | None, choices: Any) -> int:
    """Return 4 questions for each person the adversary asks about, or one for each group."""
    from discreet.attacks.reconstruction.attack import PER_PERSON
    from discreet.attacks.reconstruction.exhaustive import MOST_PEOPLE
    from discreet.engines.connect import open_table
    from discreet.sql import build

    reading = {name: choices[name] for name in ("delimiter", "encoding")}
    table = open_table(source, table=choices["table"], memory_limit=choices["memory"], **reading)
    try:
        counted = table.engine.run(build.select(build.count_star(), source=table.relation.copy()))
    finally:
        table.engine.close()
    people = int(counted.column(0)[0].as_py())
    if subsets == "all" and people <= MOST_PEOPLE:
        return 1 << people
    return PER_PERSON * (people + absent_of(people))


def _assumed_belief(assume: str | None, choices: Any) -> NoiseBelief:
    """Return what is written, else what is true of the interface: a rule is no secret for long."""
    from discreet.attacks.reconstruction.belief import UNKNOWN, NoiseBelief, read_belief

    if assume is not None:
        return read_belief(assume)
    if choices["epsilon"] is not None:
        return NoiseBelief("laplace")
    step, noise = choices["step"], choices["noise"]
    if noise is not None:
        shape, scale = noise
        bound = scale if shape == "uniform" else None
        return NoiseBelief(UNKNOWN if step is not None else shape, bound)
    return NoiseBelief("uniform", step / 2) if step is not None else NoiseBelief("gaussian", 0.0)


def _subset_form(roster: Roster, *, is_private: bool) -> Subsets:
    """Return groups that the interface can be asked for: `discreet ask` knows no hashes."""
    if not is_private:
        return "hash"
    return "list" if roster.numbers is None else "arithmetic"


def _counts_at_once(rules: LaboratoryRules, kind: str, choices: Any) -> int:
    is_watched = rules.smallest > 0 or not rules.allows_all or rules.overlap is not None
    return 1 if is_watched or choices["epsilon"] is not None or kind in ("list", "all") else AT_ONCE


def _with_limit(
    found: Finding, truth: NDArray[np.bool_], *, questions: int, chance: np.random.Generator
) -> Finding:
    from dataclasses import replace

    from discreet.attacks.reconstruction.limit import measure_limit

    groups = chance.random((questions, truth.size)) < 0.5
    trials = measure_limit(groups, truth, chance=chance)
    return replace(found, details={**found.details, "limit": [vars(trial) for trial in trials]})


def _show_limit(found: Finding) -> None:
    rows = [
        [f"{trial['noise']:.3g}", f"{trial['expected']:.3f}", f"{trial['measured']:.3f}"]
        for trial in found.details["limit"]
    ]
    header = ("sd of the noise", "right by the formula", "right by trial")
    output.print_table(output.console(), "How much noise stops it", header, rows, texts=())
