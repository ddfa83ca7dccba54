"""`discreet collect`: local differential privacy, file in and file out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from discreet.cli import options, output
from discreet.cli.epsilon import EXACT
from discreet.dp.local.protocol import Protocol
from discreet.engines.engine import Table
from discreet.errors import EmptySource, OutputRefused, SourceNotFound, UnsuitableValues, WrongUsage
from discreet.policy import model
from discreet.result import Result

EXAMPLES = """\b
Examples:
  discreet collect people.csv --column smokes --values no,yes --epsilon 1 -o reports.csv
  discreet collect --estimate reports.csv
  discreet collect people.csv --column drug --policy policy.yaml --epsilon 2 --dry-run
"""

METHODS = ("randomized-response", "grr", "oue", "olh", "hadamard")


@dataclass(frozen=True)
class CollectedReports(Result):
    """How reports were made. `error` is the standard error of the count of a rare value."""

    epsilon: float
    method: str
    column: str
    values: tuple[str, ...]
    rows: int
    chance_if_true: float
    chance_if_other: float
    error: float
    output: str | None
    manifest: str | None


@click.command(epilog=EXAMPLES)
@click.argument("source", metavar="SOURCE", required=False, callback=options.require_name)
@click.option("--column", metavar="NAME", help="The column that people report.")
@click.option("--epsilon", type=EXACT, metavar="E", help="What each report may give away.")
@click.option(
    "--method",
    type=options.SuggestingChoice(METHODS),
    metavar="|".join(METHODS),
    help="How values are reported. Default: the method whose counts vary least.",
)
@click.option(
    "--values",
    type=options.NAMES,
    help="All possible values, which are public. Default: those of the policy.",
)
@click.option("--other", metavar="VALUE", help="Stands for missing values and those not listed.")
@options.policy_option
@click.option(
    "-o",
    "--output",
    "out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=options.require_name,
    help="Where the reports go: .csv, .tsv (also .gz, .zst) or .parquet.",
)
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option(
    "--estimate",
    "reports",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=options.require_name,
    help="Count what the reports in FILE say, instead of making any.",
)
@click.option(
    "--consistent", is_flag=True, help="With --estimate: no negative counts; they add up."
)
@click.option(
    "--confidence", type=EXACT, metavar="P", help="With --estimate: of intervals. Default: 0.95."
)
@options.reading_options
@options.json_option
def command(source: str | None, reports: Path | None, as_json: bool, **choices: Any) -> None:
    """Perturb each person's value on its own, or count what such reports say.

    Each row of SOURCE is a person, who reports one of the public values by exact coins. Whoever
    collects the reports learns little about anybody, and the counts with their error.
    """
    if reports is not None:
        if source is not None or choices["out"] is not None:
            raise WrongUsage("--estimate counts reports that were made. Leave out SOURCE and -o.")
        _show_estimates(reports, as_json, choices)
        return
    if source is None:
        raise WrongUsage("Name the SOURCE whose column people report, or --estimate FILE.")
    if choices["consistent"] or choices["confidence"] is not None:
        raise WrongUsage("--consistent and --confidence are for --estimate.")
    found = _collect_reports(source, choices)
    if as_json:
        output.print_json(found)
        return
    what = f"Each of {found.rows:,} people reports '{found.column}' by {found.method}"
    click.echo(
        output.replace_control_characters(f"{what}: {found.epsilon:.6g}-DP for each report.")
    )
    click.echo(f"The count of a rare value will have a standard error of {found.error:,.4g}.")
    if found.output is not None:
        place = f"Written to {found.output}, manifest in {found.manifest}"
        click.echo(output.replace_control_characters(place))


def _collect_reports(source: str, choices: dict[str, Any]) -> CollectedReports:
    """Make reports of a column, and write them unless this is a dry run."""
    from discreet.engines.connect import open_table
    from discreet.measure.roles import require_column

    column, epsilon = choices["column"], choices["epsilon"]
    if column is None or epsilon is None:
        raise WrongUsage(
            "Say which column people report and what a report may give away: --column, --epsilon."
        )
    out = None if choices["dry_run"] else _output_path(source, choices)
    table = open_table(
        source,
        table=choices["table"],
        delimiter=choices["delimiter"],
        memory_limit=choices["memory"],
        encoding=choices["encoding"],
    )
    try:
        require_column(table, column)
        described = _policy_table(table, choices)
        protocol = _design_protocol(choices, described)
        _require_people(table, described)
        reports = _perturb_column(table, column, protocol, other=choices["other"])
    finally:
        table.engine.close()
    if out is not None:
        _write(reports, protocol, out, column=column, force=choices["force"])
    return _describe_reports(protocol, column=column, rows=reports.num_rows, out=out)


def _output_path(source: str, choices: dict[str, Any]) -> Path:
    """Return where the reports go; a place that cannot be written is refused before any work."""
    from discreet.cli.file_collisions import refuse_collisions
    from discreet.dp.local.record import reports_manifest_path
    from discreet.release.output.target import FileTarget
    from discreet.release.write import parse_target
    from discreet.writing import require_writable_path

    out: Path | None = choices["out"]
    if out is None:
        raise WrongUsage("Say where the reports go: -o reports.csv; or add --dry-run.")
    target = parse_target(out, force=choices["force"])
    if not isinstance(target, FileTarget) or target.format.copy_options is None:
        raise OutputRefused(f"{out}: reports are written to one file, such as reports.csv.")
    require_writable_path(reports_manifest_path(out), may_exist=choices["force"])
    refuse_collisions(
        [choices["policy"]],
        {"the reports": out, "their manifest": reports_manifest_path(out)},
        source=source,
    )
    return out


def _policy_table(table: Table, choices: dict[str, Any]) -> model.TablePolicy | None:
    if choices["policy"] is None:
        return None
    from discreet.measure.roles import select_table
    from discreet.policy.load import load_policy

    return select_table(load_policy(choices["policy"]), label=table.label, name=choices["table"])


def _design_protocol(choices: dict[str, Any], described: model.TablePolicy | None) -> Protocol:
    """Return the protocol; the values come from the command or the policy, never from the data."""
    from discreet.dp.local.protocol import design_protocol
    from discreet.policy.domain import declared_values

    values: tuple[str, ...] | None = choices["values"]
    if values is None and described is not None:
        values = next(
            (declared_values(item) for item in described.columns if item.name == choices["column"]),
            None,
        )
    if values is None:
        raise WrongUsage(
            "What values are possible must be public, and is not read from the data. List them with "
            "--values, or as `values:` of the column in a policy (where `init` wrote `drafted`, check "
            "them and change that word to `public`)."
        )
    return design_protocol(values, epsilon=choices["epsilon"], method=choices["method"])


def _require_people(table: Table, described: model.TablePolicy | None) -> None:
    """Refuse several rows of one person: each would be a report, and their epsilons add up."""
    unit = described.unit if described is not None else None
    if unit is None or table.column(unit) is None:
        return
    from sqlglot import exp

    from discreet.sql import build

    people = exp.Count(this=exp.Distinct(expressions=[build.column(unit)]))
    query = build.select(
        build.alias_as(build.count_star(), "rows"),
        build.alias_as(people, "people"),
        source=table.relation,
    )
    counted = table.engine.run(query).to_pylist()[0]
    if counted["rows"] > counted["people"]:
        raise UnsuitableValues(
            f"{table.label} has more rows than people ('{unit}'). Each row would be a report, and "
            "who sends several gives away several epsilons. Make one row for each person first."
        )


def _perturb_column(table: Table, column: str, protocol: Protocol, *, other: str | None) -> Any:
    import pyarrow as pa
    from sqlglot import exp

    from discreet.dp.local.collect import perturb_column
    from discreet.sql import build

    text = exp.cast(build.column(column), exp.DataType.Type.TEXT)
    query = build.select(build.alias_as(text, "value"), source=table.relation)
    batches = [batch.column(0).cast(pa.string()) for batch in table.engine.stream(query)]
    values = pa.chunked_array(batches, pa.string())
    if not len(values):
        raise EmptySource(f"{table.label} has a header but no rows: there is nobody to ask.")
    return perturb_column(values, protocol, other=other)


def _write(reports: Any, protocol: Protocol, out: Path, *, column: str, force: bool) -> None:
    """Write the reports, sorted so that their order says nothing, and their manifest."""
    from importlib.metadata import version

    from discreet.dp.local.record import describe_protocol, reports_manifest_path
    from discreet.engines.connect import open_table
    from discreet.release.write import parse_target, write_rows
    from discreet.sql import build
    from discreet.writing import write_atomically

    made = open_table(reports)
    try:
        query = build.select(
            *(build.column(item.name) for item in made.columns), source=made.relation
        )
        write_rows(made.engine, query, parse_target(out, force=force))
    finally:
        made.engine.close()
    program = f"discreet {version('discreet')}"
    told = describe_protocol(protocol, column=column, rows=reports.num_rows, program=program)
    write_atomically(reports_manifest_path(out), told)


def _describe_reports(
    protocol: Protocol, *, column: str, rows: int, out: Path | None
) -> CollectedReports:
    from discreet.dp.local.collect import support_of
    from discreet.dp.local.record import reports_manifest_path

    chances = support_of(protocol)
    true, other = float(chances.true), float(chances.other)
    return CollectedReports(
        epsilon=float(protocol.epsilon),
        method=protocol.method,
        column=column,
        values=protocol.values,
        rows=rows,
        chance_if_true=true,
        chance_if_other=other,
        error=(rows * other * (1 - other)) ** 0.5 / (true - other),
        output=str(out) if out is not None else None,
        manifest=str(reports_manifest_path(out)) if out is not None else None,
    )


def _show_estimates(path: Path, as_json: bool, choices: dict[str, Any]) -> None:
    from discreet.dp.local.collect import estimate_frequencies
    from discreet.dp.local.record import read_reports, read_reports_manifest, reports_manifest_path

    if not path.is_file():
        raise SourceNotFound(f"There is no file {path}.")
    protocol = read_reports_manifest(reports_manifest_path(path))
    if protocol is None:
        if choices["epsilon"] is None or choices["values"] is None or choices["method"] is None:
            raise WrongUsage(
                f"{path} has no manifest {reports_manifest_path(path).name} beside it. Say how the reports were "
                "made: --method, --epsilon and --values."
            )
        protocol = _design_protocol(choices, None)
    elif any(choices[name] is not None for name in ("epsilon", "values", "method")):
        raise WrongUsage(
            f"{reports_manifest_path(path)} says how the reports were made. Leave that out."
        )
    found = estimate_frequencies(
        read_reports(path),
        protocol,
        confidence=choices["confidence"] or Fraction(19, 20),
        consistent=choices["consistent"],
    )
    if as_json:
        output.print_json(found)
        return
    rows = [
        (
            item.value,
            f"{item.count:,.1f}",
            f"{item.standard_error:,.1f}",
            f"{item.lower:,.1f} to {item.upper:,.1f}",
        )
        for item in found.values
    ]
    title = f"{found.reports:,} reports by {found.method}, each {found.epsilon:.6g}-DP"
    header = ("Value", "People", "Standard error", f"{found.confidence:.3g} interval")
    output.print_table(output.console(), title, header, rows)
