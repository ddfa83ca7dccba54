"""The release measured afresh: from its written rows, never from what the search believed."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from discreet.criteria.criterion import SensitiveCriterion
from discreet.engines.connect import open_table
from discreet.engines.engine import Engine, FileEngine, Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import ReleaseFailed
from discreet.measure.assess import assess_binding
from discreet.measure.assessment import Assessment
from discreet.measure.risk.sample import AT_RISK_ABOVE
from discreet.measure.roles import bind_roles, on_engine
from discreet.policy import model
from discreet.release.output.target import FileTarget, Target


@contextmanager
def read_again(target: Target, policy: model.TablePolicy, *, engine: Engine) -> Generator[Table]:
    """Open what was written to `target`; an engine at hand that reads files does it."""
    reader = engine.file_engine
    opened = _as_texts(target, policy, reader) or open_table(target.source, engine=reader)
    try:
        yield opened
    finally:
        if opened.engine is not reader:
            opened.engine.close()


def _as_texts(target: Target, policy: model.TablePolicy, reader: FileEngine | None) -> Table | None:
    """Return a file of texts read as such: equal values have equal texts, and only orders need more."""
    needs_order = any(
        isinstance(criterion, SensitiveCriterion)
        and "order" in map(criterion.needs.get, criterion.parameters().values())
        for criterion in policy.criteria
    )
    if needs_order or reader is None or not isinstance(target, FileTarget):
        return None
    # An ending after that of the format says how it is packed.
    if target.format.open_texts is None or target.suffix not in target.format.suffixes:
        return None
    relation = target.format.open_texts(target.path, reader)
    return reader.table(relation, label=target.path.name)


def measure_table(
    table: Table, policy: model.TablePolicy, *, population: Table | None = None
) -> Assessment:
    """Return the assessment of a table by the criteria of `policy`."""
    bound = bind_roles(table, policy=policy_of_release(policy))
    with ScratchEngine(table.engine) as scratch:
        return assess_binding(
            on_engine(bound, scratch),
            population=population,
            fraction=None,
            depth=0,
            threshold=AT_RISK_ABOVE,
            progress=lambda *_: None,
        )


def require_holds(found: Assessment) -> None:
    """Refuse a release that fails a criterion.

    Raises:
        ReleaseFailed: The message names the criteria and how many people they fail.
    """
    failed = [verdict for verdict in found.criteria if not verdict.holds]
    if failed:
        raise ReleaseFailed(
            "Nothing was published: read again, the release fails "
            + " and ".join(
                f"{verdict.criterion} for {verdict.failing_people:,} people" for verdict in failed
            )
            + ". Suppressed rows that are left out change what classes are compared with: keep them "
            "(--suppressed keep), allow none (--suppress 0), or ask for less."
        )


def require_same_digest(digest: str | None, expected: str | None) -> None:
    """Refuse a release made again that came out otherwise; tables have no digest.

    Raises:
        ReleaseFailed: The digests differ.
    """
    if expected is not None and digest is not None and digest != expected:
        raise ReleaseFailed(
            "Nothing was published: the rows made again are not those of the manifest, their SHA-256 "
            "differs. A step with chance needs the same --key-file, and another version of discreet "
            "may decide otherwise."
        )


def policy_of_release(policy: model.TablePolicy) -> model.TablePolicy:
    """Return the policy of a release: labels have no hierarchy, identifiers are gone.

    A published weight is a column that stays: it is read again as text, and weighed before it is written.
    """
    columns = tuple(
        replace(column, hierarchy=None, values=None, bounds=None)
        if column.role is model.ColumnRole.QUASI_IDENTIFIER
        else replace(column, role=model.ColumnRole.INSENSITIVE)
        if column.role is model.ColumnRole.WEIGHT
        else column
        for column in policy.columns
        if column.name not in policy.unpublished
    )
    return replace(policy, columns=columns)
