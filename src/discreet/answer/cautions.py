"""What an asker should know about an answer: what was left out, scaled or chosen, none of it from the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.answer.aggregates import Ask

if TYPE_CHECKING:
    from discreet.answer.plan import LeafPlan, Plan


def of(plan: Plan) -> tuple[str, ...]:
    """Return the cautions of a plan, each once."""
    found: list[str] = []
    for leaf in plan.leaves:
        found += _of_leaf(leaf)
        for touch in leaf.leaf.rows.touches:
            policy = touch.held.policy
            if policy is None or policy.budget is None:
                found.append(
                    f"Nobody declared a budget for '{touch.held.name}'. Add `budget: {{epsilon: 1}}` "
                    "to its policy."
                )
    return tuple(dict.fromkeys(found))


def _of_leaf(leaf: LeafPlan) -> list[str]:
    found: list[str] = []
    if leaf.threshold is not None:
        found.append(
            f"Groups with a noisy number of people below {leaf.threshold} are left out: their keys "
            "are not public."
        )
    elif leaf.leaf.keys:
        found.append("Rows whose key is missing or not among the public values are not counted.")
    if leaf.limit.method in ("rescale", "truncate"):
        found.append(
            f"At most {leaf.limit.rows} rows of one person count; those of people with more are "
            "scaled down."
        )
    if leaf.limit.method == "truncate":
        found.append(f"A person counts in at most {leaf.limit.groups} groups, chosen by chance.")
    if leaf.limit.method == "rank":
        found.append(f"At most {leaf.limit.rows} rows of one person count, chosen by chance.")
    for probe in leaf.ranks:
        if probe.aggregate.ask in (Ask.MIN, Ask.MAX):
            beyond = "below" if probe.aggregate.ask is Ask.MIN else "above"
            found.append(
                f"The {probe.aggregate.ask} is a value with about {probe.rank} rows {beyond} it: the "
                "true one would be one person's."
            )
    return found
