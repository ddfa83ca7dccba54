"""Census reconstruction: which people have exactly the statistics that were published."""

from __future__ import annotations

from collections import Counter
from typing import Any

from discreet.attacks.census.block import Cell, CensusBlock
from discreet.attacks.census.marginals import read_census_people
from discreet.attacks.census.solve import Solved, solve_block
from discreet.attacks.finding import Finding, make_finding
from discreet.errors import WrongUsage
from discreet.formatting import format_count

KNOWLEDGE = "the published statistics, and which values there can be."
REMEDY = (
    "publish fewer and coarser tables, or noisy ones under differential privacy (`discreet ask`); "
    "rounding and hidden small cells do not stop it."
)
SHOWN = 8  # records of the worked example


def reconstruct_block(
    block: CensusBlock,
    *,
    most: int = 1000,
    seconds: float = 60.0,
    truth: object | None = None,
    encoding: str | None = None,
) -> Finding:
    """Return how many records of a block follow from what was published of it.

    A record is exposed when it is in every table of people that has the statistics. With `truth`, the
    people themselves, the finding also says how many records are right.

    >>> import pyarrow
    >>> from discreet.attacks.census.marginals import tabulate_marginals
    >>> people = pyarrow.table({"sex": ["f", "m"], "age": [8, 24]})
    >>> found = reconstruct_block(tabulate_marginals(people, ways=2), truth=people)
    >>> found.details["unique"], found.correct
    (True, 2)
    """
    if most < 1 or seconds <= 0:
        raise WrongUsage("At least one table and some time are needed to find it.")
    found = solve_block(block, most=most, seconds=seconds, encoding=encoding)
    people = None if truth is None else read_census_people(truth, block)
    proved, possible = found.certain.total(), found.possible.total()
    total = max(block.people, 1)
    return make_finding(
        "census",
        target=block.label,
        verdict=_word_verdict(block, found, most),
        targets=block.people,
        exposed=proved,
        correct=None if people is None else _count_correct(found.certain, people),
        knowledge=KNOWLEDGE,
        remedy=REMEDY,
        certainty=1.0 if proved else None,
        interval=(proved / total, possible / total),
        details=_build_details(block, found, people),
        example=_build_example(block, found),
    )


def _build_details(
    block: CensusBlock, found: Solved, people: Counter[Cell | None] | None
) -> dict[str, Any]:
    details: dict[str, Any] = {
        "solutions": len(found.tables),
        "all_solutions_listed": found.is_complete,
        "unique": found.is_complete and len(found.tables) == 1,
        "consistent": bool(found.tables) or not found.is_complete,
        "bound_only": not found.is_settled,
        "certain": found.certain.total(),
        "certain_and_alone": sum(count == 1 for count in found.certain.values()),
        "guaranteed": found.guaranteed,
        "statistics": block.statistics,
        "possible_records": block.size,
        "encoding": found.encoding,
    }
    if people is not None and found.tables:
        details["matched"] = _count_correct(found.tables[0], people)
    return details


def _count_correct(claimed: Counter[Cell], people: Counter[Cell | None]) -> int:
    return sum(min(count, people[cell]) for cell, count in claimed.items())


def _word_verdict(block: CensusBlock, found: Solved, most: int) -> str:
    people = format_count(block.people, "person", "people")
    certain = found.certain.total()
    many = len(found.tables)
    if not many and found.is_complete:
        return (
            f"No table of {people} has these statistics: they contradict each other, as noise, "
            "swapped records or a slip make them."
        )
    if not many:
        return f"No table of {people} was found in the time given: nothing is proved."
    if found.is_complete and many == 1:
        return (
            f"Exactly one table of {people} has these statistics: every record follows from them, "
            "up to order."
        )
    if found.is_complete:
        return (
            f"{many:,} tables of {people} have these statistics; {certain:,} of the "
            f"{block.people:,} records are in all of them."
        )
    least = f"More than {many:,}" if many >= most else f"At least {many:,}"
    if not found.is_settled:
        return (
            f"{least} tables of {people} have these statistics; at least {certain:,} of the "
            f"{block.people:,} records are in all of them, and more could not be settled in time."
        )
    return (
        f"{least} tables of {people} have these statistics; {certain:,} of the {block.people:,} "
        "records are proved to be in all of them."
    )


def _build_example(block: CensusBlock, found: Solved) -> list[str]:
    if not found.certain:
        return []
    rows = [
        f"{block.spell(cell)}" + (f" ({count} people)" if count > 1 else "")
        for cell, count in sorted(found.certain.items())
    ]
    rest = len(rows) - SHOWN
    more = [f"and {format_count(rest, 'record', 'records')} more."] if rest > 0 else []
    return ["In every table that has these statistics there is", *rows[:SHOWN], *more]
