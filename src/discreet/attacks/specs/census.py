"""The attack census: published tables turned back into the people they were made from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.errors import WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.census.block import CensusBlock
    from discreet.attacks.finding import Finding

DESCRIPTION = """Find every table of people that has the published counts, means and medians.

One table only: publishing the statistics was publishing the people. Several: records that are in
all of them are certain all the same. None: the statistics contradict each other.
"""


def _run(
    given: AttackInput,
    *,
    table: object,
    ways: int | None,
    columns: Sequence[str] | None,
    suppress: int | None,
    truth: object,
    most: int,
    seconds: float,
) -> Sequence[Finding]:
    from discreet.attacks.census.reconstruct import reconstruct_block

    published = _read_block(given.label, table, ways=ways, columns=columns, suppress=suppress)
    known = truth if truth is not None else table
    return [reconstruct_block(published, most=most, seconds=seconds, truth=known)]


def _read_block(
    block: str,
    table: object,
    *,
    ways: int | None,
    columns: Sequence[str] | None,
    suppress: int | None,
) -> CensusBlock:
    if bool(block) == (table is not None):
        raise WrongUsage("Give either a BLOCK.yaml or --table SOURCE.")
    if block:
        for word, value in (("--ways", ways), ("--columns", columns), ("--suppress", suppress)):
            if value is not None:
                raise WrongUsage(f"{word} goes with --table; a block says what was published.")
        from discreet.attacks.census.read import read_block

        return read_block(block)
    from discreet.attacks.census.marginals import tabulate_marginals

    return tabulate_marginals(table, ways=ways or 2, columns=columns, suppress=suppress or 0)


SPEC = AttackSpec(
    name="census",
    summary="counts, means and medians turned back into people",
    description=DESCRIPTION,
    target="mechanism",
    argument="BLOCK.yaml",
    source="optional",
    options=(
        OptionSpec(
            "table",
            "source",
            "Instead of BLOCK: people whose cross tables are about to be published.",
        ),
        OptionSpec(
            "ways",
            "integer",
            "How many columns each cross table of --table has.",
            minimum=1,
            default_text="2",
        ),
        OptionSpec("columns", "names", "Columns of --table. Default: all."),
        OptionSpec(
            "suppress",
            "integer",
            "Cells of --table with fewer people are published as a range.",
            minimum=0,
        ),
        OptionSpec("truth", "source", "The people themselves, to see what is right."),
        OptionSpec(
            "most", "integer", "Stop listing tables after so many.", default=1000, minimum=1
        ),
        OptionSpec(
            "time",
            "number",
            "Seconds for the solver; what is not proved by then is reported as a bound.",
            default=60,
            above=0,
            metavar="S",
            parameter="seconds",
        ),
    ),
    run=_run,
    examples=(
        "discreet attack census block.yaml",
        "discreet attack census block.yaml --truth people.csv --most 100",
        "discreet attack census --table people.csv --ways 2 --columns age,sex,race",
    ),
    notes="""A block says how many people there are, what can be true of each, and what was published:
  people: 7
  variables: {age: 0..115, sex: [female, male]}
  decimals: 1
  groups:
    - {where: {sex: female}, count: 4, age: {mean: 33.5, median: 30}}
    - {where: {age: 64..}, count: 0..2}""",
    position=230,
)
