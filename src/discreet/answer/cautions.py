"""Cautions of an answer: what was left out, scaled or chosen, or took a share of epsilon."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.answer.accounts import DEFAULT_BUDGET
from discreet.answer.aggregates import AggregateKind
from discreet.answer.bounds_search import bounds_cautions
from discreet.answer.catalog import CatalogTable
from discreet.answer.cut_rows import CutRows, read_cut
from discreet.answer.perturb import ReleasedTable, noise_deviation
from discreet.answer.plan import Plan, PrivateQueryPlan
from discreet.policy.model import Policy


def plan_cautions(plan: Plan, policy: Policy | None) -> tuple[str, ...]:
    """Return the cautions of a plan under `policy`, each once."""
    has_common_budget = policy is not None and policy.budget is not None
    found: list[str] = bounds_cautions(plan)
    for leaf in plan.private_queries:
        found += _query_cautions(leaf)
        for touch in leaf.private_query.rows.touches:
            declared = touch.held.policy
            found += _undeclared_cautions(touch.held)
            if not has_common_budget and (declared is None or declared.budget is None):
                found.append(
                    f"No budget is declared for '{touch.held.name}', so that it is epsilon "
                    f"{float(DEFAULT_BUDGET.epsilon):g}, which protects little. Add `budget: {{epsilon: 1}}` "
                    "to its table in the policy."
                )
    return tuple(dict.fromkeys(found))


def measure_cut_rows(plan: Plan, released: Mapping[str, ReleasedTable]) -> tuple[CutRows, ...]:
    """Return the share of rows that the limits cut off, for each leaf."""
    found: list[CutRows] = []
    for leaf in plan.private_queries:
        noisy = released[leaf.private_query.name].cut
        if leaf.cut is not None and noisy is not None:
            deviation = noise_deviation(float(leaf.cut.scale), plan.noise)
            found.append(read_cut(noisy, deviation, leaf.cut.limit))
    return tuple(dict.fromkeys(found))


def _undeclared_cautions(held: CatalogTable) -> list[str]:
    """Return which declarations of a table are missing, and what was assumed instead."""
    found: list[str] = []
    if held.pinned is not None and held.pinned.schema is not None:
        found.append(
            f"No policy declares the columns of '{held.name}': its rows decided their kinds when it was "
            "first asked about, which reveals something about them. Draft a policy with `discreet init`, "
            "check it, and ask with --policy."
        )
    if held.unit is None and not (held.policy and held.policy.unit_is_row):
        found.append(
            f"Each row of '{held.name}' is taken for another person, because no policy declares its "
            "unit. Write `unit: row`, or `unit:` and the column that identifies the person."
        )
    return found


def _query_cautions(leaf: PrivateQueryPlan) -> list[str]:
    found: list[str] = []
    if leaf.threshold is not None:
        found.append(
            f"Groups with a noisy number of people below {leaf.threshold} are left out: their keys "
            "are not public."
        )
    elif leaf.private_query.keys:
        found.append("Rows whose key is missing or not among the public values are not counted.")
    if leaf.limit.method in ("rescale", "truncate"):
        rows = _format_count(leaf.limit.rows, "row")
        found.append(
            f"A person counts as at most {rows}; people with more are scaled down to that."
        )
    if leaf.limit.method == "truncate" and leaf.limit.groups is not None:
        groups = _format_count(leaf.limit.groups, "group")
        found.append(f"A person counts in at most {groups}, chosen by chance.")
    if leaf.limit.method == "rank":
        rows = _format_count(leaf.limit.rows, "row")
        found.append(f"At most {rows} of a person count, chosen by chance.")
    for probe in leaf.ranks:
        if probe.aggregate.ask in (AggregateKind.MIN, AggregateKind.MAX):
            beyond = "below" if probe.aggregate.ask is AggregateKind.MIN else "above"
            found.append(
                f"The {probe.aggregate.ask} is a value with about {probe.rank} rows {beyond} it: the "
                "true one would be one person's."
            )
    return found


def _format_count(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"
