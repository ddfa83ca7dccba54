"""`deidentify`: a source in, its rows without identifiers written, and a record of what was done."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from discreet.engines.engine import Engine, Table
from discreet.errors import OutputRefused, WrongUsage
from discreet.measure.assess import Progress
from discreet.policy.model import Policy
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices, apply_pseudonyms
from discreet.release.deidentify.expert import Determination, ExpertChoices, determine
from discreet.release.deidentify.gate import DeidentifiedRows, pass_gate
from discreet.release.deidentify.prepared_release import UNIT, PreparedRelease
from discreet.release.deidentify.record import (
    Deidentified,
    deidentification_record_path,
    write_record,
)
from discreet.release.deidentify.safe_harbor import SafeHarborChoices, apply_safe_harbor
from discreet.release.deidentify.source import SourceOptions, SourceTable, open_source
from discreet.release.deidentify.tokens import TokenMapping, open_tokens, seal_tokens
from discreet.release.deidentify.zip_areas import SmallAreas
from discreet.release.gate import GateResult
from discreet.release.output.target import Target
from discreet.release.registry import PendingRelease, Registry, registry_of_table
from discreet.release.wording import not_tried
from discreet.release.write import WrittenOutput, parse_target, write_rows
from discreet.sql import build
from discreet.writing import require_writable_path


def safe_harbor(  # noqa: PLR0913 -- the flags of the command
    source: object,
    output: str | Path | None = None,
    *,
    as_of: int,
    policy: Policy | str | Path | None = None,
    classes: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
    unit: str | None = None,
    small: SmallAreas | None = None,
    accept_risk: str | None = None,
    registry: Registry | None = None,
    force: bool = False,
    reading: SourceOptions | None = None,
    progress: Progress | None = None,
) -> Deidentified:
    """Write `source` without the 18 classes of identifiers of HIPAA's Safe Harbor.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        output: Where the rows go; without it nothing is written.
        as_of: The year to which ages are counted from dates: a person over 89 then is `90+`.
        policy: A policy or the path of its file; its identifiers are removed in any case.
        classes: Columns whose class is known: a letter from A to R, `zip`, `age` or `text`.
        keep: Columns that stay as they are, on the custodian's word.
        unit: The column that identifies the person, to count people in what is left.
        small: The ZIP areas of 20,000 people or fewer; the list that is shipped when not given.
        accept_risk: Why it is written even if attacks learn more than the policy tolerates.
        registry: Where releases of the same people are remembered, this one too.
        force: Replace what is at `output`.
        reading: How the source is read.
        progress: Called with a step's name, what is done and what there is to do.

    >>> import pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray"], "age": [93, 41], "zip": ["10001", "03601"]})
    >>> found = safe_harbor(people, as_of=2026)
    >>> [(column.column, column.letter, column.action) for column in found.columns]
    [('name', 'A', 'removed'), ('age', 'C', 'age up to 89'), ('zip', 'B', 'three digits')]
    """
    if not 1900 <= as_of <= 2200:
        raise WrongUsage(f"The year {as_of} is none to count ages to. Give one such as 2026.")
    target = prepare_target(output, force=force) if output is not None else None
    choices = SafeHarborChoices(as_of, dict(classes or {}), tuple(keep), unit, small)
    with (
        open_source(source, policy, reading or SourceOptions()) as table,
        _begin_publication(registry, table, target) as publishing,
    ):
        prepared = apply_safe_harbor(table, choices, progress=progress or _ignore_progress)
        prepared = _attack_prepared(prepared, table, publishing, accepted=accept_risk)
        if target is None:
            return prepared.found
        return write_prepared(prepared, table.table.engine, target, publishing, source=source)


def pseudonymize_source(  # noqa: PLR0913 -- the flags of the command
    source: object,
    output: str | Path | None = None,
    *,
    choices: PseudonymChoices,
    mapping: Path | None = None,
    policy: Policy | str | Path | None = None,
    accept_risk: str | None = None,
    registry: Registry | None = None,
    force: bool = False,
    reading: SourceOptions | None = None,
    progress: Progress | None = None,
) -> Deidentified:
    """Write `source` with pseudonyms in the columns of `choices`, other identifiers dropped.

    Tokens are looked up in the sealed `mapping` and added to it before rows are written, so that no
    token is ever published that its custodian could not look up.
    """
    target = prepare_target(output, force=force) if output is not None else None
    if mapping is not None:
        choices = replace(choices, tokens=_open_mapping(mapping, choices))
    with (
        open_source(source, policy, reading or SourceOptions()) as table,
        _begin_publication(registry, table, target) as publishing,
    ):
        prepared, tokens = apply_pseudonyms(table, choices, progress=progress or _ignore_progress)
        prepared = _attack_prepared(
            prepared, table, publishing, pseudonyms=choices.columns, accepted=accept_risk
        )
        if target is None:
            return prepared.found
        if mapping is not None and choices.key is not None:
            seal_tokens(tokens, mapping, key=choices.key)
        return write_prepared(prepared, table.table.engine, target, publishing, source=source)


def _open_mapping(mapping: Path, choices: PseudonymChoices) -> TokenMapping:
    if choices.key is None:
        raise WrongUsage("A sealed mapping needs a key. Name it with --key-file or --key-env.")
    require_writable_path(mapping)
    return open_tokens(mapping, key=choices.key)


def determine_source(  # noqa: PLR0913 -- the flags of the command
    source: object,
    policy: Policy | str | Path | None,
    output: str | Path | None = None,
    *,
    choices: ExpertChoices,
    accept_risk: str | None = None,
    registry: Registry | None = None,
    force: bool = False,
    reading: SourceOptions | None = None,
    progress: Progress | None = None,
) -> Determination:
    """Judge `source` by its measured risk; with `output`, without identifiers, and write it if it holds.

    Nothing is written if the residual risk is above the threshold.
    """
    target = prepare_target(output, force=force) if output is not None else None
    choices = replace(choices, remove_identifiers=choices.remove_identifiers or target is not None)
    with (
        open_source(source, policy, reading or SourceOptions()) as table,
        _begin_publication(registry, table, target) as publishing,
    ):
        found, judged = determine(table, choices, progress=progress or _ignore_progress)
        if not found.holds:
            return found
        passed = pass_gate(
            _without_unit(judged, quasi=found.quasi),
            table,
            accepted=accept_risk,
            refuses=target is not None,
            earlier=publishing.earlier,
        )
        found = replace(
            found,
            verdict=" ".join([found.verdict, *_describe_result(passed)]),
            findings=passed.findings,
            undecided=passed.open_points,
            accepted_risk=passed.accepted,
            cautions=(*found.cautions, *passed.cautions),
        )
        if target is None:
            return found
        columns = [column.name for column in judged.columns if column.name != UNIT]
        query = build.select(*map(build.column, columns), source=judged.relation.copy())
        found = replace(found, output=_write(table.table.engine, query, target, publishing))
        write_record(found, target, source=source, record=publishing.record)
        return found


def _begin_publication(
    registry: Registry | None, source: SourceTable, target: Target | None
) -> AbstractContextManager[PendingRelease]:
    name = source.policy.name if source.policy else source.table.label
    known = registry_of_table(registry, name, source.policy)
    return known.begin_release(target.place if target is not None else None)


def _write(
    engine: Engine, query: exp.Query, target: Target, publishing: PendingRelease
) -> WrittenOutput:
    publishing.remember(None, None)
    written = write_rows(engine, query, target)
    publishing.keep_rows(getattr(target, "path", None), written.sha256)
    return written


def _attack_prepared(
    prepared: PreparedRelease,
    source: SourceTable,
    publishing: PendingRelease,
    *,
    pseudonyms: Collection[str] = (),
    accepted: str | None,
) -> PreparedRelease:
    """Return what is ready to be written with what attacks on it found; a dry run only reports."""
    engine, left = source.table.engine, prepared.found.remaining
    columns = engine.columns(prepared.relation)
    made = _without_unit(
        Table(engine, prepared.relation, columns, source.table.label),
        quasi=left.quasi if left else (),
        pseudonyms=tuple(pseudonyms),
    )
    passed = pass_gate(
        made,
        source,
        accepted=accepted,
        refuses=publishing.output is not None,
        earlier=publishing.earlier,
    )
    found = replace(
        prepared.found,
        verdict=" ".join([prepared.found.verdict, *_describe_result(passed)])
        + not_tried(passed.not_tried),
        not_tried=passed.not_tried,
        findings=passed.findings,
        undecided=passed.open_points,
        accepted_risk=passed.accepted,
        cautions=(*prepared.found.cautions, *passed.cautions),
    )
    return replace(prepared, found=found)


def _without_unit(
    rows: Table, *, quasi: Sequence[str], pseudonyms: Sequence[str] = ()
) -> DeidentifiedRows:
    """Return rows as they are published; their unit only says whose they are."""
    shown = tuple(column for column in rows.columns if column.name != UNIT)
    unit = rows.column(UNIT) if shown else None
    return DeidentifiedRows(replace(rows, columns=shown), quasi, pseudonyms, unit)


def _describe_result(passed: GateResult) -> list[str]:
    """Return the worst finding, and who is alone on what stays: what was removed does not show it."""
    worst = [found.verdict for found in passed.findings[:1] if found.advantage > 0]
    alone = [found.verdict for found in passed.findings if found.attack == "uniqueness"]
    refused = ["As it is, it would be refused."] if passed.is_refused else []
    return [*dict.fromkeys([*worst, *alone]), *passed.open_points, *refused]


def _ignore_progress(*_: object) -> None:
    """Take note of no progress."""


def prepare_target(output: str | Path, *, force: bool) -> Target:
    """Return where rows go, refused now if it cannot be written or its record would be replaced."""
    target = parse_target(output, force=force)
    beside = deidentification_record_path(target)
    if beside is not None:
        require_writable_path(beside, may_exist=force)
    return target


def write_prepared(
    prepared: PreparedRelease,
    engine: Engine,
    target: Target,
    publishing: PendingRelease,
    *,
    source: object,
) -> Deidentified:
    """Write the rows in an order that reveals nothing, and the record of what was done beside them."""
    if not prepared.columns:
        raise OutputRefused(
            "Every column is an identifier: nothing is left to write. Give the columns you need a "
            "class with --class, or keep them with --keep."
        )
    columns = [build.column(name) for name in prepared.columns]
    query = build.select(*columns, source=prepared.relation.copy())
    written = _write(engine, query, target, publishing)
    found = replace(prepared.found, output=written)
    write_record(found, target, source=source, record=publishing.record)
    return found
