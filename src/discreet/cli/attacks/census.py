"""`discreet attack census`: published tables turned back into the people they were made from."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.attacks.census.block import CensusBlock
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of

EXAMPLES = """\b
Examples:
  discreet attack census block.yaml
  discreet attack census block.yaml --truth people.csv --most 100
  discreet attack census --table people.csv --ways 2 --columns age,sex,race

\b
A block says how many people there are, what can be true of each, and what was published:
  people: 7
  variables: {age: 0..115, sex: [female, male]}
  decimals: 1
  groups:
    - {where: {sex: female}, count: 4, age: {mean: 33.5, median: 30}}
    - {where: {age: 64..}, count: 0..2}
"""


@click.command(epilog=EXAMPLES)
@click.argument("block", metavar="[BLOCK.yaml]", required=False, callback=options.require_name)
@click.option(
    "--table",
    "source",
    metavar="SOURCE",
    callback=options.require_name,
    help="Instead of BLOCK: people whose cross tables are about to be published.",
)
@click.option(
    "--ways",
    type=click.IntRange(1),
    metavar="N",
    help="How many columns each cross table of --table has; 2 if nothing is said.",
)
@click.option("--columns", type=options.NAMES, help="Columns of --table. Default: all.")
@click.option(
    "--suppress",
    type=click.IntRange(0),
    metavar="N",
    help="Cells of --table with fewer people are published as a range.",
)
@click.option("--truth", metavar="SOURCE", help="The people themselves, to see what is right.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Stop listing tables after so many.",
)
@click.option(
    "--time",
    "seconds",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    metavar="S",
    help="Seconds for the solver; what is not proved by then is told as a bound.",
)
@finding_options
def command(
    *,
    block: str | None,
    source: str | None,
    ways: int | None,
    columns: tuple[str, ...] | None,
    suppress: int | None,
    truth: str | None,
    most: int,
    seconds: float,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
) -> None:
    """Find every table of people that has the published counts, means and medians.

    One table only: publishing the statistics was publishing the people. Several: records that are in
    all of them are certain all the same. None: the statistics contradict each other.
    """
    from discreet.attacks.census.reconstruct import reconstruct_block

    tolerated = tolerance_of(policy, tolerance=tolerance, table=None, label=source or block or "")
    published = _read_block(block, source, ways=ways, columns=columns, suppress=suppress)
    known = truth if truth is not None else source
    found = reconstruct_block(published, most=most, seconds=seconds, truth=known)
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)


def _read_block(
    block: str | None,
    source: str | None,
    *,
    ways: int | None,
    columns: tuple[str, ...] | None,
    suppress: int | None,
) -> CensusBlock:
    if (block is None) == (source is None):
        raise click.UsageError("Give either a BLOCK.yaml or --table SOURCE.")
    if block is not None:
        for word, value in (("--ways", ways), ("--columns", columns), ("--suppress", suppress)):
            if value is not None:
                raise click.UsageError(
                    f"{word} goes with --table; a block says what was published."
                )
        from discreet.attacks.census.read import read_block

        return read_block(block)
    from discreet.attacks.census.marginals import tabulate_marginals

    return tabulate_marginals(source, ways=ways or 2, columns=columns, suppress=suppress or 0)
