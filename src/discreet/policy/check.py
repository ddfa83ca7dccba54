"""Checks between the parts of a policy, made even where other parts have faults."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import InvalidHierarchy, InvalidPolicy, SourceNotFound, did_you_mean
from discreet.policy.answer_model import ROW
from discreet.policy.build import build_hierarchy, split_reference
from discreet.policy.domain import has_dates, unwrap
from discreet.policy.faults import Faults
from discreet.policy.hierarchies.calendar import PERIODS
from discreet.policy.hierarchies.values import NUMBER
from discreet.policy.hierarchy import Hierarchy
from discreet.policy.model import ColumnRole
from discreet.policy.rules_schema import WrittenRule, build_rule
from discreet.policy.schema import WrittenHierarchy, read_as
from discreet.registry import CRITERIA

if TYPE_CHECKING:
    from discreet.policy.document import Place


@dataclass(frozen=True)
class PartialTable:
    """A table as far as it could be read: what is missing or malformed is left out."""

    place: Place
    written: dict[str, Any]
    unit: str | None
    columns: dict[str, dict[str, Any]]
    criteria: dict[tuple[int, str], dict[str, Any]]  # parameters by (number, name)
    release: dict[str, Any]

    def role(self, column: str) -> str | None:
        """Return the role as written."""
        return self.columns[column].get("role")


def read_partial_tables(data: Any) -> dict[str, PartialTable]:
    """Return what can be read of each table."""
    return {
        name: _read_partial_table(name, table)
        for name, table in _mapping_or_empty(_mapping_or_empty(data).get("tables")).items()
    }


def _read_partial_table(name: str, table: Any) -> PartialTable:
    table = _mapping_or_empty(table)
    columns = {
        column: {"role": written} if isinstance(written, str) else _mapping_or_empty(written)
        for column, written in _mapping_or_empty(table.get("columns")).items()
    }
    parameters = _named_items(table.get("criteria"))
    unit = table.get("unit")
    unit = unit.get("column") if isinstance(unit, dict) else None if unit == ROW else unit
    return PartialTable(
        ("tables", name),
        table,
        unit if isinstance(unit, str) else None,
        columns,
        parameters,
        _mapping_or_empty(table.get("release")),
    )


def _mapping_or_empty(written: Any) -> dict[str, Any]:
    return written if isinstance(written, dict) else {}


def _named_items(written: Any) -> dict[tuple[int, str], dict[str, Any]]:
    """Return the parameters of each named item of a list, by its place there and its name."""
    return {
        (index, name): _mapping_or_empty(parameters)
        for index, item in enumerate(written if isinstance(written, list) else [])
        for name, parameters in _mapping_or_empty(item).items()
    }


def build_hierarchies(
    tables: dict[str, PartialTable], *, folder: Path, faults: Faults
) -> dict[tuple[str, str], Hierarchy]:
    """Return every hierarchy by table and column; those with faults are left out."""
    built: dict[tuple[str, str], Hierarchy] = {}
    for name, table in tables.items():
        for column, written in table.columns.items():
            found = read_as(WrittenHierarchy, written.get("hierarchy"))
            if isinstance(found, list):  # no hierarchy, or one whose faults the schema reports
                continue
            try:
                built[name, column] = build_hierarchy(found, folder=folder)
            except (InvalidHierarchy, SourceNotFound) as error:
                faults.add((*table.place, "columns", column, "hierarchy"), f"hierarchy: {error}")
    return built


def check_tables(tables: dict[str, PartialTable], *, folder: Path, faults: Faults) -> None:
    """Note where units, references and criteria contradict the columns, or two tables share an id."""
    _check_ids(tables, faults=faults)
    for table in tables.values():
        _check_unit(table, faults=faults)
        _check_weight(table, faults=faults)
        _check_bounds(table, faults=faults)
        _check_references(table, tables=tables, faults=faults)
        for (index, name), parameters in table.criteria.items():
            place = (*table.place, "criteria", index, name)
            _check_criterion(name, parameters, table=table, place=place, faults=faults)
        _check_release(table, faults=faults)
        _check_public(table, faults=faults)
        _check_unit_period(table, faults=faults)
        _check_partitions(table, faults=faults)
        _check_rules(table, folder=folder, faults=faults)


def _check_ids(tables: dict[str, PartialTable], *, faults: Faults) -> None:
    known: dict[str, str] = {}
    for name, table in tables.items():
        identity = table.written.get("id")
        if not isinstance(identity, str):
            continue
        other = known.setdefault(identity, name)
        if other != name:
            faults.add(
                (*table.place, "id"),
                f"id '{identity}' is that of table '{other}', too, so that both would pay out of one "
                "account. Give each its own: `discreet init` draws one.",
            )


def _check_unit(table: PartialTable, *, faults: Faults) -> None:
    if table.unit not in table.columns:  # it need not be listed
        return
    role = table.role(table.unit)
    if role in (ColumnRole.SENSITIVE, ColumnRole.QUASI_IDENTIFIER, ColumnRole.WEIGHT):
        faults.add(
            (*table.place, "unit"),
            f"unit '{table.unit}' has the role '{role}', but a unit identifies the person of a row. "
            f"Give the column the role '{ColumnRole.IDENTIFIER}', or choose another unit.",
        )


def _check_weight(table: PartialTable, *, faults: Faults) -> None:
    """Note a second column of weights, and one whose values cannot be positive numbers."""
    weights = [name for name in table.columns if table.role(name) == ColumnRole.WEIGHT]
    for name in weights[1:]:
        faults.add(
            (*table.place, "columns", name),
            f"column '{name}' is a second weight besides '{weights[0]}', but a row stands for one "
            f"number of people. Give one of them the role '{ColumnRole.INSENSITIVE}', or leave it out.",
        )
    for name in weights:
        kind = table.columns[name].get("kind")
        if kind is not None and kind not in ("integer", "number"):
            faults.add(
                (*table.place, "columns", name, "kind"),
                f"column '{name}' is a weight of the kind '{kind}', but weights are positive numbers. "
                "Write `kind: number`, or choose another role.",
            )
        bounds = unwrap(table.columns[name].get("bounds"))
        if isinstance(bounds, list) and bounds and str(bounds[0]).strip().startswith("-"):
            faults.add(
                (*table.place, "columns", name, "bounds"),
                f"column '{name}' is a weight with a negative bound, but weights are positive numbers. "
                "Write `bounds: [0, …]`.",
            )
    if "publish-weight" in table.release and not weights:
        faults.add(
            (*table.place, "release", "publish-weight"),
            "no column has the role 'weight', so there is none to publish. Give a column that role.",
        )


def _check_bounds(table: PartialTable, *, faults: Faults) -> None:
    """Note bounds that are dates where the kind is none, and the other way round."""
    for name, written in table.columns.items():
        bounds, kind = unwrap(written.get("bounds")), written.get("kind")
        if not isinstance(bounds, list) or not isinstance(kind, str):
            continue
        place = (*table.place, "columns", name, "bounds")
        if has_dates(bounds) and kind not in _DATED:
            faults.add(
                place,
                f"the bounds are dates, but the kind is '{kind}'. Write numbers, or `kind: date`.",
            )
        elif not has_dates(bounds) and kind in _DATED:
            faults.add(
                place,
                f"the kind is '{kind}', so that the bounds are dates, such as [2020-01-01, 2024-12-31].",
            )
        elif kind == "date" and any(len(str(end).strip()) > len("2020-01-01") for end in bounds):
            faults.add(
                place,
                "the bounds have a time of the day, but the kind is 'date'. Write days, or `kind: timestamp`.",
            )


_DATED = ("date", "timestamp")


def _check_references(
    table: PartialTable, *, tables: dict[str, PartialTable], faults: Faults
) -> None:
    for column, written in table.columns.items():
        reference = written.get("references")
        if not isinstance(reference, str) or "." not in reference:
            continue
        place = (*table.place, "columns", column, "references")
        target, name = split_reference(reference)
        if target not in tables:
            near = did_you_mean(target, tables)
            faults.add(place, f"references table '{target}', which is not in the policy.{near}")
        elif name not in tables[target].columns and name != tables[target].unit:
            near = did_you_mean(name, tables[target].columns)
            faults.add(place, f"references '{name}', which table '{target}' does not list.{near}")


def _check_criterion(
    name: str, parameters: dict[str, Any], *, table: PartialTable, place: Place, faults: Faults
) -> None:
    column = parameters.get("column")
    if not isinstance(column, str) or not column:
        return
    at = (*place, "column")
    if not _is_listed(column, table=table, place=at, faults=faults):
        return
    role = table.role(column)
    if role in set(ColumnRole) - {ColumnRole.SENSITIVE}:
        faults.add(
            at,
            f"column '{column}' has the role '{role}', but the criterion protects a sensitive "
            f"column. Give it the role '{ColumnRole.SENSITIVE}', or name another.",
        )
    kind = next((spec.criterion for spec in CRITERIA.all() if spec.name == name), None)
    needs = getattr(kind, "needs", {})
    for key, word in parameters.items():
        is_needed = isinstance(word, str) and needs.get(word) == "hierarchy"
        if is_needed and "hierarchy" not in table.columns[column]:
            faults.add(
                (*place, key), f"{key} '{word}' needs a hierarchy. Add one to column '{column}'."
            )


def _is_listed(column: str, *, table: PartialTable, place: Place, faults: Faults) -> bool:
    """Return whether the table lists `column`; note it if not."""
    if column in table.columns:
        return True
    near = did_you_mean(column, table.columns)
    faults.add(place, f"column '{column}' is not listed in table '{table.place[1]}'.{near}")
    return False


def _check_release(table: PartialTable, *, faults: Faults) -> None:
    place = (*table.place, "release")
    target = table.release.get("target")
    if isinstance(target, str) and target:
        _is_listed(target, table=table, place=(*place, "target"), faults=faults)
    for column in _mapping_or_empty(table.release.get("weights")):
        at = (*place, "weights", column)
        if not _is_listed(column, table=table, place=at, faults=faults):
            continue
        role = table.role(column)
        if role in set(ColumnRole) - {ColumnRole.QUASI_IDENTIFIER}:
            faults.add(
                at,
                f"column '{column}' has the role '{role}', but only quasi-identifiers lose "
                "information. Leave out its weight.",
            )
    _check_left_out(table, place=place, faults=faults)
    for (index, name), parameters in _named_items(table.release.get("steps")).items():
        at = (*place, "steps", index, name)
        for key in ("column", "columns", "match"):
            written = parameters.get(key)
            for column in written if isinstance(written, list) else [written]:
                if isinstance(column, str) and column:
                    _check_step(name, column, table=table, place=(*at, key), faults=faults)


def _check_left_out(table: PartialTable, *, place: Place, faults: Faults) -> None:
    written = table.release.get("leave-out")
    names = [name for name in written if isinstance(name, str)] if isinstance(written, list) else []
    for name in names:
        _is_listed(name, table=table, place=(*place, "leave-out"), faults=faults)
    needed: list[tuple[Place, object]] = [((*place, "target"), table.release.get("target"))]
    weights = _mapping_or_empty(table.release.get("weights"))
    needed += [((*place, "weights", column), column) for column in weights]
    for (index, step), parameters in _named_items(table.release.get("steps")).items():
        for key in ("column", "columns", "match"):
            used = parameters.get(key)
            at = (*place, "steps", index, step, key)
            needed += [(at, column) for column in (used if isinstance(used, list) else [used])]
    for at, column in needed:
        if column in names:
            faults.add(
                at, f"column '{column}' is left out of what is published. Use it, or leave it out."
            )


def _check_step(
    name: str, column: str, *, table: PartialTable, place: Place, faults: Faults
) -> None:
    if column == table.unit:
        faults.add(
            place,
            f"column '{column}' identifies the person of a row. A step cannot change the unit.",
        )
        return
    if not _is_listed(column, table=table, place=place, faults=faults) or name not in _NUMERIC:
        return
    written = table.columns[column]
    values = unwrap(written.get("values"))
    is_list = isinstance(values, list)
    has_words = is_list and not all(isinstance(v, str) and NUMBER.fullmatch(v) for v in values)
    if has_words or "calendar" in _mapping_or_empty(written.get("hierarchy")):
        holds = "values that are no numbers" if has_words else "dates"
        faults.add(place, f"column '{column}' has {holds}, but the step needs numbers.")


_NUMERIC = {"clip", "top-code", "bottom-code", "round", "microaggregate", "noise"}


def _check_public(table: PartialTable, *, faults: Faults) -> None:
    if str(table.written.get("public")).lower() != "true":
        return
    for key in ("unit", "criteria", "budget", "limits", "partitions"):
        if key in table.written:
            faults.add(
                (*table.place, key),
                f"the table is public ('public: true'), so '{key}' protects no one. "
                "Leave out one of the two.",
            )


def _check_unit_period(table: PartialTable, *, faults: Faults) -> None:
    on = _mapping_or_empty(table.written.get("unit")).get("on")
    if isinstance(on, str) and on:
        _is_dated(on, table=table, place=(*table.place, "unit", "on"), faults=faults)


def _is_dated(column: str, *, table: PartialTable, place: Place, faults: Faults) -> bool:
    """Return whether the table lists `column` and nothing there excludes dates."""
    if not _is_listed(column, table=table, place=place, faults=faults):
        return False
    written = table.columns[column]
    for key, holds in (("values", "a list of values"), ("bounds", "numbers")):
        if key in written and not (key == "bounds" and has_dates(unwrap(written[key]))):
            faults.add(place, f"column '{column}' has {holds}, but a period needs dates.")
            return False
    return True


def _check_partitions(table: PartialTable, *, faults: Faults) -> None:
    partitions = _mapping_or_empty(table.written.get("partitions"))
    for number, (column, parts) in enumerate(partitions.items()):
        place = (*table.place, "partitions", column)
        is_found = (_is_dated if parts in PERIODS else _is_listed)(
            column, table=table, place=place, faults=faults
        )
        if number:
            faults.add(
                place,
                f"a table has parts of one column only: a part by '{column}' and one by "
                f"'{next(iter(partitions))}' share rows, so they cannot be charged apart. Keep one.",
            )
        elif is_found and parts in (*PERIODS, "value"):
            _check_units_in_parts(column, parts, table=table, place=place, faults=faults)


def _check_units_in_parts(
    column: str, parts: str, *, table: PartialTable, place: Place, faults: Faults
) -> None:
    """Note where a unit may have rows in several parts: then charging them apart is no protection."""
    unit = table.written.get("unit")
    if unit is None or unit == ROW:
        return
    per, on = (_mapping_or_empty(unit).get(key) for key in ("per", "on"))
    if per not in PERIODS or not isinstance(on, str):
        faults.add(
            place,
            "a person may have rows in several parts, so questions about different parts add up "
            "about that person, and charging them apart would reveal more than the budget allows. "
            "Leave out the partition, or protect a person's period: "
            f"`unit: {{column: {table.unit or '…'}, per: month, on: {column}}}`.",
        )
    elif column != on:
        faults.add(
            place,
            f"one person's {per} may have rows in several parts by '{column}', so questions about "
            f"different parts add up. With this unit, only '{on}' can make parts.",
        )
    elif parts not in PERIODS or PERIODS.index(parts) < PERIODS.index(per):
        faults.add(
            place,
            f"one person's {per} may have rows in several parts by '{parts}', so questions about "
            f"different parts add up. Choose one of: {', '.join(PERIODS[PERIODS.index(per) :])}.",
        )


def _check_rules(table: PartialTable, *, folder: Path, faults: Faults) -> None:
    """Note rules that name columns which the table does not list, and files that cannot be read."""
    written = table.written.get("rules")
    for index, item in enumerate(written if isinstance(written, list) else []):
        rule = read_as(WrittenRule, item)
        if isinstance(rule, list):  # the schema reports it
            continue
        place = (*table.place, "rules", index, *rule.model_fields_set)
        try:
            named = build_rule(rule, folder=folder, line=0).columns
        except InvalidPolicy as error:
            faults.add(place, error.faults[0])
            continue
        for name in named:
            _is_listed(name, table=table, place=place, faults=faults)
