"""Policies as YAML text that the loader reads back to the same values."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import Any

from discreet.policy.answer_model import ROW, BudgetPolicy, ContributionLimits, WorkloadPolicy
from discreet.policy.hierarchies.values import yaml_number
from discreet.policy.model import (
    ColumnPolicy,
    Criterion,
    Policy,
    ReleasePolicy,
    Step,
    TablePolicy,
    step_name,
)
from discreet.policy.rules import rule_value


def flow_text(value: Any) -> str:
    """Return plain `value` as YAML on one line, quoted where other readers would see a number.

    >>> flow_text({"role": "quasi-identifier", "values": ["01", "NO"]})
    "{role: quasi-identifier, values: ['01', 'NO']}"
    """
    import yaml  # slower to load than most commands are

    text = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=2**31
    )
    return text.removesuffix("...\n").strip()


def dump_policy(policy: Policy) -> str:
    """Return `policy` as YAML, one line per column and criterion.

    >>> from discreet.policy.model import ColumnRole, KAnonymity
    >>> columns = (ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),)
    >>> table = TablePolicy("people", columns, criteria=(KAnonymity(5),))
    >>> print(dump_policy(Policy({"people": table})), end="")
    tables:
      people:
        columns:
          age: {role: quasi-identifier}
        criteria:
          - k-anonymity: {k: 5}
    """
    lines = [] if policy.id is None else [f"id: {flow_text(policy.id)}"]
    if policy.budget is not None:
        lines.append(f"budget: {flow_text(budget_value(policy.budget))}")
    if policy.workloads:
        lines.append("workloads:")
        lines += [
            f"  {flow_text(name)}: {flow_text(_workload_value(workload))}"
            for name, workload in policy.workloads.items()
        ]
    lines += ["tables:"]
    for name, table in policy.tables.items():
        lines += [f"  {flow_text(name)}:", *(f"    {line}" for line in _table_lines(table))]
    return "\n".join(lines) + "\n"


def policy_value(policy: Policy) -> dict[str, Any]:
    """Return `policy` in plain dicts and lists, as JSON, which the loader reads as well."""
    identity = {} if policy.id is None else {"id": policy.id}
    budget = {} if policy.budget is None else {"budget": budget_value(policy.budget)}
    tables = {name: _table_value(table) for name, table in policy.tables.items()}
    workloads = {name: _workload_value(one) for name, one in policy.workloads.items()}
    asked = {"workloads": workloads} if workloads else {}
    return {**identity, **budget, **asked, "tables": tables}


def _workload_value(workload: WorkloadPolicy) -> dict[str, Any]:
    return {
        "queries": list(workload.queries),
        "epsilon": _plain_value(workload.epsilon),
        "delta": _plain_value(workload.delta),
    }


def _table_value(table: TablePolicy) -> dict[str, Any]:
    columns = {column.name: column_value(column) for column in table.columns}
    criteria = [criterion_value(criterion) for criterion in table.criteria]
    found: dict[str, Any] = {
        **_head_value(table),
        "columns": columns,
        "criteria": criteria,
        "rules": [rule_value(rule) for rule in table.rules],
        "release": _release_value(table.release),
    }
    return {name: value for name, value in found.items() if value}


def _table_lines(table: TablePolicy) -> list[str]:
    head = [f"{key}: {flow_text(value)}" for key, value in _head_value(table).items() if value]
    names = [f"{flow_text(column.name)}:" for column in table.columns]
    width = max(map(len, names), default=0)
    columns = [
        f"  {name:<{width}} {flow_text(column_value(column))}"
        for name, column in zip(names, table.columns, strict=True)
    ]
    criteria = [f"  - {flow_text(criterion_value(c))[1:-1]}" for c in table.criteria]
    return [
        *head,
        "columns:",
        *columns,
        *(["criteria:"] if criteria else []),
        *criteria,
        *(["rules:"] if table.rules else []),
        *(f"  - {flow_text(rule_value(rule))[1:-1]}" for rule in table.rules),
        *_release_lines(table.release),
    ]


def _head_value(table: TablePolicy) -> dict[str, Any]:
    """Return the keys of the table as a whole; empty ones may be left out."""
    unit: Any = ROW if table.unit_is_row else table.unit
    unit = {"column": unit} if table.unit == ROW else unit
    if table.unit_period is not None:
        period = table.unit_period
        unit = {"column": table.unit, "per": period.period, "on": period.column}
    return {
        "id": table.id,
        "distinct-from": list(table.distinct_from),
        "source": table.source,
        "public": table.public,
        "unit": unit,
        "reading": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(table.reading).items()
            if value not in (None, ())
        },
        "budget": None if table.budget is None else budget_value(table.budget),
        "limits": _limits_value(table.limits),
        "partitions": dict(table.partitions),
        "tolerance": {name: _plain_value(share) for name, share in table.tolerance.items()},
    }


def _limits_value(limits: ContributionLimits) -> dict[str, int]:
    found = {
        field.name: getattr(limits, field.name) for field in dataclasses.fields(ContributionLimits)
    }
    del found["line"]
    return {name.replace("_", "-"): limit for name, limit in found.items() if limit is not None}


def budget_value(budget: BudgetPolicy) -> dict[str, Any]:
    """Return `budget` without the keys that have their default; analysts' without those it shares."""
    value = _parameter_values(budget)
    value.pop("analysts", None)
    if budget.analysts:
        value["analysts"] = {
            name: {
                key: _plain_value(getattr(analyst, key))
                for key in ("epsilon", "delta", "accounting", "per")
                if key == "epsilon" or getattr(analyst, key) != getattr(budget, key)
            }
            for name, analyst in budget.analysts.items()
        }
    return value


def _release_value(release: ReleasePolicy) -> dict[str, Any]:
    """Return the block without the keys that have their default."""
    plain: dict[str, Any] = {
        "method": release.method,
        "suppress": _plain_value(release.suppress),
        "utility": release.utility,
        "weights": {name: _plain_value(weight) for name, weight in release.weights.items()},
        "target": release.target,
        "options": dict(release.options),
        "leave-out": list(release.leave_out),
        "publish-weight": release.publish_weight,
        "steps": [step_value(step) for step in release.steps],
    }
    usual: dict[str, Any] = {
        "method": "local",
        "suppress": 0,
        "utility": "loss",
        "weights": {},
        "target": None,
        "options": {},
        "leave-out": [],
        "publish-weight": False,
        "steps": [],
    }
    return {key: value for key, value in plain.items() if value != usual[key]}


def _release_lines(release: ReleasePolicy) -> list[str]:
    """Return the block, one line per key and step."""
    if release == ReleasePolicy():
        return []
    plain = _release_value(release)
    steps = [f"    - {flow_text(step)[1:-1]}" for step in plain.pop("steps", [])]
    keys = [f"  {key}: {flow_text(value)}" for key, value in plain.items()]
    return ["release:", *keys, *(["  steps:"] if steps else []), *steps]


def step_value(step: Step) -> dict[str, Any]:
    """Return `step` under its name, without the parameters that have their default."""
    return {step_name(step): _parameter_values(step)}


def column_value(column: ColumnPolicy) -> dict[str, Any]:
    """Return the policy file's entry of `column`, as plain dicts, lists, numbers and text."""
    value: dict[str, Any] = {"role": column.role.value}
    if column.kind is not None:
        value["kind"] = column.kind
    value |= column.written.to_dict()
    if column.has_private_bounds:
        value["bounds"] = "private"
    elif column.bounds is not None or column.date_bounds is not None:
        bounds: list[Any] = [yaml_number(bound) for bound in column.bounds or ()]
        bounds += [_date_text(bound) for bound in column.date_bounds or ()]
        value["bounds"] = {"drafted": bounds} if "bounds" in column.drafted else bounds
    if column.values is not None:
        values = list(column.values)
        value["values"] = {"drafted": values} if "values" in column.drafted else values
    if column.hierarchy is not None:
        value["hierarchy"] = column.hierarchy.to_yaml_value()
    if column.references is not None:
        value["references"] = ".".join(column.references)
    flags = {"ordered": (column.is_ordered, True), "unsure": (column.unsure, False)}
    return value | {key: said for key, (said, default) in flags.items() if said is not default}


def _date_text(bound: dt.date) -> str:
    return bound.isoformat(" ") if isinstance(bound, dt.datetime) else bound.isoformat()


def criterion_value(criterion: Criterion) -> dict[str, Any]:
    """Return `criterion` under its name, without the parameters that have their default."""
    return {criterion.name: _parameter_values(criterion)}


def _parameter_values(value: Criterion | Step | BudgetPolicy) -> dict[str, Any]:
    found = {
        field.name: _plain_value(getattr(value, field.name))
        for field in dataclasses.fields(value)
        if field.name != "line" and getattr(value, field.name) != field.default
    }
    return dict(sorted(found.items(), key=lambda item: item[0] == "missing"))


def _plain_value(parameter: Any) -> Any:
    if isinstance(parameter, tuple):
        return [_plain_value(item) for item in parameter]
    if isinstance(parameter, Decimal):
        return yaml_number(parameter)
    is_whole = isinstance(parameter, float) and parameter.is_integer()
    return int(parameter) if is_whole else parameter
