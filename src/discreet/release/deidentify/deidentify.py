"""`deidentify`: a source in, its rows without identifiers written, and a manifest of what was done."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from sqlglot import exp

from discreet.engines.engine import Table
from discreet.errors import OutputRefused, WrongUsage
from discreet.policy import model
from discreet.policy.model import Policy
from discreet.progress import Progress, follow_phases
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices, apply_pseudonyms
from discreet.release.deidentify.expert import Determination, ExpertChoices, determine
from discreet.release.deidentify.record import Deidentified, PreparedRelease
from discreet.release.deidentify.replace import UNIT
from discreet.release.deidentify.safe_harbor import SafeHarborChoices, apply_safe_harbor
from discreet.release.deidentify.tokens import TokenMapping, open_tokens, seal_tokens
from discreet.release.deidentify.zip_areas import SmallAreas
from discreet.release.gate import DeidentifiedRows, Gate, GateResult, attack_deidentified
from discreet.release.manifest import (
    deidentification_manifest_path,
    write_deidentification_manifest,
)
from discreet.release.output.target import Target
from discreet.release.registry import PendingRelease, Registry, registry_of_table
from discreet.release.source import SourceOptions, SourceTable, open_source
from discreet.release.wording import not_tried
from discreet.release.write import parse_target, write_rows
from discreet.sql import build
from discreet.writing import require_writable_path

_Found = TypeVar("_Found", Deidentified, Determination)


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
        progress: Called with a phase's name, what is done and what there is to do.

    >>> import pyarrow as pa
    >>> people = pa.table({"name": ["Ann Lee", "Bob Ray"], "age": [93, 41], "zip": ["10001", "03601"]})
    >>> found = safe_harbor(people, as_of=2026)
    >>> [(column.column, column.letter, column.action) for column in found.columns]
    [('name', 'A', 'removed'), ('age', 'C', 'age up to 89'), ('zip', 'B', 'three digits')]
    """
    if not 1900 <= as_of <= 2200:
        raise WrongUsage(f"The year {as_of} is none to count ages to. Give one such as 2026.")
    choices = SafeHarborChoices(as_of, dict(classes or {}), tuple(keep), unit, small)
    with _begin_publication(
        source, policy, output, registry, accept_risk, force, reading, progress
    ) as begun:
        prepared = apply_safe_harbor(begun.table, choices, progress=begun.progress)
        return begun.write_prepared(begun.attack_prepared(prepared))


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
    if mapping is not None:
        choices = replace(choices, tokens=_open_mapping(mapping, choices))
    with _begin_publication(
        source, policy, output, registry, accept_risk, force, reading, progress
    ) as begun:
        prepared, tokens = apply_pseudonyms(begun.table, choices, progress=begun.progress)
        prepared = begun.attack_prepared(prepared, pseudonyms=choices.columns)
        if begun.target is not None and mapping is not None and choices.key is not None:
            seal_tokens(tokens, mapping, key=choices.key)
        return begun.write_prepared(prepared)


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
    choices = replace(choices, remove_identifiers=choices.remove_identifiers or output is not None)
    with _begin_publication(
        source, policy, output, registry, accept_risk, force, reading, progress
    ) as begun:
        found, judged = determine(begun.table, choices, progress=begun.progress)
        if not found.holds:
            return found
        passed = begun.attack(judged, quasi=found.quasi)
        found = replace(
            found,
            verdict=" ".join([found.verdict, *_describe_result(passed)]),
            findings=passed.findings,
            undecided=passed.open_points,
            accepted_risk=passed.accepted,
            cautions=(*found.cautions, *passed.cautions),
        )
        columns = [column.name for column in judged.columns if column.name != UNIT]
        return begun.write(found, judged.relation, columns)


@dataclass(frozen=True)
class _Publication:
    """A table that is open, and where its rows go once they were attacked: nowhere in a dry run."""

    source: object
    table: SourceTable
    target: Target | None
    pending: PendingRelease
    accepted: str | None
    progress: Progress

    def attack(
        self, made: Table, *, quasi: Sequence[str], pseudonyms: Collection[str] = ()
    ) -> GateResult:
        """Return what attacks find in rows as they are published; a dry run only reports."""
        asked = self.table.policy or model.TablePolicy(self.table.table.label, ())
        shown = tuple(column for column in made.columns if column.name != UNIT)
        rows = DeidentifiedRows(
            replace(made, columns=shown),
            quasi,
            tuple(pseudonyms),
            unit=made.column(UNIT) if shown else None,
        )
        refuses = self.target is not None
        gate = Gate(asked, tuple(self.pending.earlier), self.accepted, refuses=refuses)
        return attack_deidentified(rows, self.table.table, gate, progress=self.progress)

    def attack_prepared(
        self, prepared: PreparedRelease, *, pseudonyms: Collection[str] = ()
    ) -> PreparedRelease:
        """Return what is ready to be written with what attacks on it found."""
        table, left = self.table.table, prepared.found.remaining
        columns = table.engine.columns(prepared.relation)
        made = Table(table.engine, prepared.relation, columns, table.label)
        passed = self.attack(made, quasi=left.quasi if left else (), pseudonyms=pseudonyms)
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

    def write_prepared(self, prepared: PreparedRelease) -> Deidentified:
        """Write rows that were attacked; refuse to write none of their columns."""
        if self.target is not None and not prepared.columns:
            raise OutputRefused(
                "Every column is an identifier: nothing is left to write. Give the columns you need a "
                "class with --class, or keep them with --keep."
            )
        return self.write(prepared.found, prepared.relation, prepared.columns)

    def write(self, found: _Found, relation: exp.Table, columns: Sequence[str]) -> _Found:
        """Write the rows in an order that reveals nothing, and the manifest beside them."""
        if self.target is None:
            return found
        self.pending.remember(None, None)
        query = build.select(*map(build.column, columns), source=relation.copy())
        self.progress("writing", 0, 1)
        written = write_rows(self.table.table.engine, query, self.target)
        self.pending.keep_rows(getattr(self.target, "path", None), written.sha256)
        found = replace(found, output=written)
        write_deidentification_manifest(
            found,
            self.target,
            source=self.source,
            accepted=self.accepted,
            record=self.pending.record,
        )
        return found


@contextmanager
def _begin_publication(
    source: object,
    policy: Policy | str | Path | None,
    output: str | Path | None,
    registry: Registry | None,
    accepted: str | None,
    force: bool,
    reading: SourceOptions | None,
    progress: Progress | None,
) -> Generator[_Publication]:
    target = prepare_target(output, force=force) if output is not None else None
    with (
        follow_phases(progress, first="opening") as step,
        open_source(source, policy, reading or SourceOptions()) as table,
    ):
        name = table.policy.name if table.policy else table.table.label
        known = registry_of_table(registry, name, table.policy)
        with known.begin_release(target.place if target is not None else None) as pending:
            yield _Publication(source, table, target, pending, accepted, step)


def _describe_result(passed: GateResult) -> list[str]:
    """Return the worst finding, and who is alone on what stays: what was removed does not show it."""
    worst = [found.verdict for found in passed.findings[:1] if found.advantage > 0]
    alone = [found.verdict for found in passed.findings if found.attack == "uniqueness"]
    refused = ["As it is, it would be refused."] if passed.is_refused else []
    return [*dict.fromkeys([*worst, *alone]), *passed.open_points, *refused]


def prepare_target(output: str | Path, *, force: bool) -> Target:
    """Return where rows go, refused now if it cannot be written or its manifest would be replaced."""
    target = parse_target(output, force=force)
    beside = deidentification_manifest_path(target)
    if beside is not None:
        require_writable_path(beside, may_exist=force)
    return target
