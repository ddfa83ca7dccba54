"""`discreet.collect` and `discreet.estimate_reports`: local differential privacy, both ends of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.local.collect import (
    FrequencyEstimates,
    estimate_frequencies,
    perturb_column,
    support_of,
)
from discreet.dp.local.protocol import Method, Protocol, design_protocol
from discreet.dp.local.record import (
    describe_protocol,
    read_reports,
    read_reports_manifest,
    reports_manifest_path,
)
from discreet.engines.caller_frames import to_frame_like, to_pandas_frame, to_polars_frame
from discreet.engines.connect import opened_table
from discreet.engines.engine import ArrowTable, Table
from discreet.errors import EmptySource, OutputRefused, SourceNotFound, UnsuitableValues, WrongUsage
from discreet.measure.assess import resolve_policy
from discreet.measure.roles import reading_hints, require_column, select_table
from discreet.policy import model
from discreet.policy.domain import declared_values
from discreet.release.output.target import FileTarget
from discreet.release.write import parse_target, write_rows
from discreet.result import Result
from discreet.sql import build
from discreet.writing import refuse_collisions, require_writable_path, write_atomically


@dataclass(frozen=True)
class CollectedReports(Result):
    """How reports were made. `error` is the standard error of the count of a rare value.

    Without `output` the reports are here: `frame` (the kind of frame that came in), `to_pandas()`,
    `to_polars()` and `to_arrow()`.

    >>> import discreet, pyarrow
    >>> people = pyarrow.table({"smokes": ["no", "yes", "no"]})
    >>> reports = discreet.collect(people, column="smokes", values=["no", "yes"], epsilon=1)
    >>> reports.method, reports.to_arrow().num_rows == reports.rows
    ('randomized-response', True)
    """

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
    _protocol: Protocol | None = field(default=None, repr=False, compare=False)
    _reports: ArrowTable = field(default=None, repr=False, compare=False)
    _given: object = field(default=None, repr=False, compare=False)

    @property
    def protocol(self) -> Protocol | None:
        """How every person reported, as counting needs it."""
        return self._protocol

    @property
    def frame(self) -> Any:
        """The reports, as the kind of frame that the source was."""
        return to_frame_like(self._given, self.to_arrow())

    def to_arrow(self) -> ArrowTable:
        """Return the reports as an Arrow table.

        Raises:
            WrongUsage: They were not made, in a dry run.
        """
        if self._reports is not None:
            return self._reports
        if self.output is None:
            raise WrongUsage("A dry run makes no reports. Leave out dry_run.")
        return read_reports(Path(self.output))

    def to_pandas(self) -> Any:
        """Return the reports as a pandas frame."""
        return to_pandas_frame(self.to_arrow())

    def to_polars(self) -> Any:
        """Return the reports as a polars frame."""
        return to_polars_frame(self.to_arrow())


def collect(  # noqa: PLR0913 -- the options of the command
    source: object,
    *,
    column: str,
    epsilon: ExactNumber,
    method: Method | None = None,
    values: Sequence[str] | None = None,
    other: str | None = None,
    policy: model.Policy | str | Path | None = None,
    output: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> CollectedReports:
    """Perturb each person's value on its own, so that the collector learns counts only.

    Each row of `source` is a person, who reports one of the public values by exact coins. Without
    `output` the reports stay in memory.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        column: The column that people report.
        epsilon: The privacy loss of each report.
        method: How values are reported; by default the method whose counts vary least.
        values: All possible values, which are public; by default those of the policy.
        other: The listed value that stands for missing values and those not listed.
        policy: A policy or its file, whose `values:` are public and whose `unit:` is a person.
        output: Where the reports go: .csv, .tsv (also .gz, .zst) or .parquet; a manifest beside it.
        force: Replace what is at `output`.
        dry_run: Only return how reports would be made.
        table: Which table of the database or policy.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    Raises:
        UnsuitableValues: A person has several rows, or values are not listed and `other` is not given.

    >>> import pyarrow
    >>> people = pyarrow.table({"smokes": ["yes", "no", "no", "no"]})
    >>> reports = collect(people, column="smokes", values=["no", "yes"], epsilon=1)
    >>> reports.method, reports.to_arrow().num_rows
    ('randomized-response', 4)
    >>> estimate_reports(reports).reports
    4
    """
    out = None
    if output is not None and not dry_run:
        out = _check_output(Path(output), source=source, policy=policy, force=force)
    loaded = resolve_policy(policy)
    with opened_table(
        source,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        memory_limit=memory,
        hints=reading_hints(loaded, source, name=table),
    ) as opened:
        require_column(opened, column)
        described = select_table(loaded, label=opened.label, name=table) if loaded else None
        possible = values
        if possible is None and described is not None:
            listed = described.column(column)
            possible = None if listed is None else declared_values(listed)
        protocol = _design_protocol(possible, epsilon=epsilon, method=method)
        _require_one_row_each(opened, described)
        reports = _perturb_column(opened, column, protocol, other=other)
    if out is not None:
        _write_reports(reports, protocol, out, column=column, force=force)
    chances = support_of(protocol)
    true, false = float(chances.true), float(chances.other)
    rows = reports.num_rows
    return CollectedReports(
        epsilon=float(protocol.epsilon),
        method=protocol.method,
        column=column,
        values=protocol.values,
        rows=rows,
        chance_if_true=true,
        chance_if_other=false,
        error=(rows * false * (1 - false)) ** 0.5 / (true - false),
        output=None if out is None else str(out),
        manifest=None if out is None else str(reports_manifest_path(out)),
        _protocol=protocol,
        _reports=None if dry_run or out is not None else reports,
        _given=source,
    )


def estimate_reports(
    reports: CollectedReports | str | Path | object,
    *,
    method: Method | None = None,
    epsilon: ExactNumber | None = None,
    values: Sequence[str] | None = None,
    consistent: bool = False,
    confidence: ExactNumber = "0.95",
) -> FrequencyEstimates:
    """Return how many people have each value, from their reports.

    Args:
        reports: What `collect` returned, the file it wrote, or a frame of reports.
        method: How the reports were made, where no manifest says it.
        epsilon: The privacy loss of each report, where no manifest says it.
        values: All possible values, where no manifest says them.
        consistent: No negative counts, and they add up.
        confidence: How sure the intervals are.

    >>> import pyarrow
    >>> people = pyarrow.table({"smokes": ["no", "yes"] * 5000})
    >>> reports = collect(people, column="smokes", values=["no", "yes"], epsilon=2)
    >>> [value.value for value in estimate_reports(reports).values]
    ['no', 'yes']
    """
    protocol, where, rows = _open_reports(reports)
    given = (method, epsilon, values)
    if protocol is None:
        if method is None or epsilon is None or values is None:
            raise WrongUsage(
                f"{where}. Say how the reports were made: --method, --epsilon and --values."
            )
        protocol = _design_protocol(values, epsilon=epsilon, method=method)
    elif any(one is not None for one in given):
        raise WrongUsage(f"{where}. Leave out --method, --epsilon and --values.")
    return estimate_frequencies(
        rows, protocol, confidence=to_fraction(confidence), consistent=consistent
    )


def _open_reports(reports: object) -> tuple[Protocol | None, str, ArrowTable]:
    """Return the protocol as far as it is known, where it was looked for, and the reports."""
    if isinstance(reports, CollectedReports):
        return reports.protocol, "The reports say how they were made", reports.to_arrow()
    if not isinstance(reports, (str, Path)):
        return None, "A frame of reports has no manifest", pa.table(reports)
    path = Path(reports)
    if not path.is_file():
        raise SourceNotFound(f"There is no file {path}.")
    manifest = reports_manifest_path(path)
    protocol = read_reports_manifest(manifest)
    missing = f"{path} has no manifest {manifest.name} beside it"
    known = f"{manifest} says how the reports were made"
    return protocol, missing if protocol is None else known, read_reports(path)


def _check_output(
    out: Path, *, source: object, policy: model.Policy | str | Path | None, force: bool
) -> Path:
    """Return where the reports go; a place that cannot be written is refused before any work."""
    target = parse_target(out, force=force)
    if not isinstance(target, FileTarget) or target.format.copy_options is None:
        raise OutputRefused(f"{out}: reports are written to one file, such as reports.csv.")
    manifest = reports_manifest_path(out)
    require_writable_path(manifest, may_exist=force)
    refuse_collisions([policy], {"the reports": out, "their manifest": manifest}, source=source)
    return out


def _design_protocol(
    values: Sequence[str] | None, *, epsilon: ExactNumber, method: Method | None
) -> Protocol:
    """Return the protocol; the values come from the caller or the policy, never from the data."""
    if values is None:
        raise WrongUsage(
            "What values are possible must be public, and is not read from the data. List them with "
            "--values, or as `values:` of the column in a policy (where `init` wrote `drafted`, check "
            "them and change that word to `public`)."
        )
    return design_protocol(values, epsilon=to_fraction(epsilon), method=method)


def _require_one_row_each(table: Table, described: model.TablePolicy | None) -> None:
    """Refuse several rows of one person: each would be a report, and their epsilons add up."""
    unit = described.unit if described is not None else None
    if unit is None or table.column(unit) is None:
        return
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
            "a person with several reports loses several epsilons. Make one row for each person first."
        )


def _perturb_column(
    table: Table, column: str, protocol: Protocol, *, other: str | None
) -> ArrowTable:
    text = exp.cast(build.column(column), exp.DataType.Type.TEXT)
    query = build.select(build.alias_as(text, "value"), source=table.relation)
    batches = [batch.column(0).cast(pa.string()) for batch in table.engine.stream(query)]
    values = pa.chunked_array(batches, pa.string())
    if not len(values):
        raise EmptySource(f"{table.label} has a header but no rows: there is no person to ask.")
    return perturb_column(values, protocol, other=other)


def _write_reports(
    reports: ArrowTable, protocol: Protocol, out: Path, *, column: str, force: bool
) -> None:
    """Write the reports, sorted so that their order says nothing, and their manifest."""
    with opened_table(reports) as made:
        columns = [build.column(item.name) for item in made.columns]
        query = build.select(*columns, source=made.relation)
        write_rows(made.engine, query, parse_target(out, force=force))
    manifest = describe_protocol(
        protocol, column=column, rows=reports.num_rows, program=f"discreet {version('discreet')}"
    )
    write_atomically(reports_manifest_path(out), manifest)
