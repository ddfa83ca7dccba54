"""From the file as written to the frozen values of the model."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.policy import model
from discreet.policy.answer_model import (
    ROW,
    BudgetPolicy,
    ContributionLimits,
    UnitPeriod,
    WorkloadPolicy,
)
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.lookup import read_lookup
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.hierarchy import Hierarchy
from discreet.policy.rules_schema import build_rules
from discreet.policy.text_format import CellFormat, TextFormat
from discreet.registry import CRITERIA

if TYPE_CHECKING:
    from discreet.policy.answer_schema import WrittenBudget, WrittenLimits, WrittenUnit
    from discreet.policy.document import Document, Place
    from discreet.policy.domain import Bounds, DeclaredDomain
    from discreet.policy.reading_schema import WrittenCells, WrittenReading
    from discreet.policy.release_schema import WrittenRelease
    from discreet.policy.schema import (
        WrittenColumn,
        WrittenCriterion,
        WrittenHierarchy,
        WrittenPolicy,
    )


def build_hierarchy(written: WrittenHierarchy, *, folder: Path) -> Hierarchy:
    """Return the hierarchy; a lookup file is read from `folder`.

    Raises:
        InvalidHierarchy: Its levels do not nest, or its file is not one.
        SourceNotFound: Its file is not there.
    """
    if written.prefix is not None:
        return Prefix(tuple(written.prefix), length=written.length)
    if written.calendar is not None:
        return Calendar(tuple(written.calendar))
    if written.tree is not None:
        return build_taxonomy(written.tree)
    if written.file is not None:
        return read_lookup(folder / written.file, file=written.file)
    return _build_numeric_hierarchy(written)


def _build_numeric_hierarchy(written: WrittenHierarchy) -> Hierarchy:
    if written.intervals is not None:
        origin = {} if written.origin is None else {"origin": written.origin}
        steps = tuple(written.intervals)
        return Intervals(steps, bottom=written.bottom, top=written.top, **origin)
    if written.cuts is not None:
        cuts = tuple(tuple(level) for level in written.cuts)
        return Cuts(cuts, bottom=written.bottom, top=written.top)
    return Extremes(bottom=written.bottom, top=written.top)


def build_policy(
    written: WrittenPolicy,
    *,
    document: Document,
    hierarchies: Mapping[tuple[str, str], Hierarchy],
    path: Path | None,
) -> model.Policy:
    """Return the policy; `hierarchies` are by table and column."""
    tables: dict[str, model.TablePolicy] = {}
    folder = Path() if path is None else path.parent
    for name, table in written.tables.items():
        place = ("tables", name)
        # `unit: row` is the word; a column of that name is written `unit: {column: row}`.
        is_row = document.data["tables"][name].get("unit") == ROW
        columns = tuple(
            _build_column(
                column,
                written=found,
                hierarchy=hierarchies.get((name, column)),
                line=document.line((*place, "columns", column)),
            )
            for column, found in table.columns.items()
        )
        criteria = tuple(
            _build_criterion(criterion, line=document.line((*place, "criteria", index)))
            for index, criterion in enumerate(table.criteria)
        )
        tables[name] = model.TablePolicy(
            name,
            columns,
            table.source,
            None if table.unit is None or is_row else table.unit.column,
            criteria,
            _release(table.release, document=document, place=(*place, "release")),
            public=table.public,
            budget=_build_budget(table.budget, document=document, place=(*place, "budget")),
            limits=_build_limits(table.limits, line=document.line((*place, "limits"))),
            unit_period=_unit_period(table.unit),
            partitions=table.partitions,
            tolerance=table.tolerance,
            id=table.id,
            unit_is_row=is_row,
            reading=_build_text_format(table.reading),
            distinct_from=tuple(table.distinct_from),
            rules=build_rules(
                table.rules, folder=folder, document=document, place=(*place, "rules")
            ),
            line=document.line(place),
        )
    budget = _build_budget(written.budget, document=document, place=("budget",))
    workloads = {
        name: WorkloadPolicy(
            tuple(found.queries),
            found.epsilon,
            found.delta,
            line=document.line(("workloads", name)),
        )
        for name, found in written.workloads.items()
    }
    return model.Policy(tables, path, budget, written.id, workloads)


def _build_column(
    name: str, *, written: WrittenColumn, hierarchy: Hierarchy | None, line: int
) -> model.ColumnPolicy:
    # Both are validated to what is stated, with its origin.
    bounds: DeclaredDomain[Bounds] | None = cast("Any", written.bounds)
    values: DeclaredDomain[tuple[str, ...]] | None = cast("Any", written.values)
    stated = {"bounds": bounds, "values": values}
    drafted = (key for key, found in stated.items() if found and found.origin == "drafted")
    ends: Any = bounds.value if bounds else None
    has_numbers = ends is not None and isinstance(ends[0], Decimal)
    return model.ColumnPolicy(
        name,
        written.role,
        bounds=ends if has_numbers else None,
        date_bounds=None if has_numbers else ends,
        values=values.value if values else None,
        drafted=cast("Any", frozenset(drafted)),
        has_private_bounds=bounds is not None and bounds.origin == "private",
        hierarchy=hierarchy,
        references=None if written.references is None else split_reference(written.references),
        unsure=written.unsure,
        is_ordered=written.ordered,
        kind=written.kind,
        written=_build_cell_format(written),
        line=line,
    )


def split_reference(reference: str) -> tuple[str, str]:
    """Return table and column of `table.column`; a table's name may have dots of its own."""
    table, _, column = reference.rpartition(".")
    return table, column


def _build_criterion(written: WrittenCriterion, *, line: int) -> model.Criterion:
    (name,) = written.model_fields_set
    parameters: dict[str, Any] = getattr(written, name).model_dump()
    return CRITERIA.get(name.replace("_", "-")).criterion(**parameters, line=line)


def _release(
    written: WrittenRelease | None, *, document: Document, place: Place
) -> model.ReleasePolicy:
    if written is None:
        return model.ReleasePolicy()
    steps: list[model.Step] = []
    for index, step in enumerate(written.steps):
        (name,) = step.model_fields_set
        found: dict[str, Any] = getattr(step, name).model_dump(exclude_none=True)
        parameters: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in found.items()
        }
        kind = model.STEPS[name.replace("_", "-")]
        steps.append(kind(**parameters, line=document.line((*place, "steps", index))))
    return model.ReleasePolicy(
        method=written.method,
        suppress=written.suppress,
        utility=written.utility,
        weights=written.weights,
        target=written.target,
        options=written.options,
        leave_out=tuple(written.leave_out or ()),
        steps=tuple(steps),
        publish_weight=written.publish_weight,
        line=document.line(place),
    )


def _unit_period(written: WrittenUnit | None) -> UnitPeriod | None:
    if written is None or written.per is None or written.on is None:
        return None
    return UnitPeriod(written.on, written.per)


def _build_text_format(written: WrittenReading | None) -> TextFormat:
    if written is None:
        return TextFormat()
    found: dict[str, Any] = written.model_dump() | {"missing": tuple(written.missing)}
    return TextFormat(**found)


def _build_cell_format(written: WrittenCells) -> CellFormat:
    return CellFormat(
        dates=tuple(written.format or ()),
        since=written.since,
        decimal=written.decimal,
        thousands=written.thousands,
        sign=written.sign,
        missing=None if written.missing is None else tuple(written.missing),
        labels=tuple(written.labels.items()),
    )


def _build_limits(written: WrittenLimits | None, *, line: int) -> ContributionLimits:
    return (
        ContributionLimits()
        if written is None
        else ContributionLimits(**written.model_dump(), line=line)
    )


def _build_budget(
    written: WrittenBudget | None, *, document: Document, place: Place
) -> BudgetPolicy | None:
    if written is None:
        return None
    analysts = {
        name: BudgetPolicy(
            analyst.epsilon,
            written.delta if analyst.delta is None else analyst.delta,
            analyst.accounting or written.accounting,
            analyst.per or written.per,
            line=document.line((*place, "analysts", name)),
        )
        for name, analyst in written.analysts.items()
    }
    return BudgetPolicy(
        written.epsilon,
        written.delta,
        written.accounting,
        written.per,
        analysts,
        line=document.line(place),
    )
