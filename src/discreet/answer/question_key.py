"""The key of a question in the ledger: questions with different keys are paid for separately."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.dp.budget import Price
from discreet.dp.ledger.records import Account

if TYPE_CHECKING:
    from discreet.answer.plan import Plan
    from discreet.answer.rows import TouchedTable
    from discreet.answer.workload import WorkloadPlan

LAYOUT = 2  # of what the ledger keeps of a question: another one is another question


def question_key(
    text: str,
    plan: Plan | WorkloadPlan,
    accounts: Sequence[Account],
    *,
    analyst: str | None,
    options: Sequence[object],
) -> str:
    """Return the key of a question in the ledger: it differs wherever the answer may differ."""
    amounts = [str(plan.epsilon), str(plan.delta), str(plan.cut_share)]
    touches = [touch for leaf in plan.private_queries for touch in leaf.private_query.rows.touches]
    return _hash_parts([LAYOUT, text, *amounts, analyst, options], touches, accounts)


def mechanism_key(
    request: str,
    price: Price,
    touches: Sequence[TouchedTable],
    accounts: Sequence[Account],
    *,
    analyst: str | None,
) -> str:
    """Return the key of a mechanism in the ledger: it differs wherever the result may differ."""
    amounts = [str(price.epsilon), str(price.delta), str(price.rho), str(price.slip)]
    return _hash_parts(["mechanism", LAYOUT, request, *amounts, analyst], touches, accounts)


def _hash_parts(
    parts: list[object], touches: Sequence[TouchedTable], accounts: Sequence[Account]
) -> str:
    tables = {
        touch.held.account: [
            touch.held.version,
            _policy_facts(touch.held.policy),
            [[column.name, column.kind] for column in touch.held.planned_columns],
            str(touch.held.table.schema),  # how an untyped file is read
        ]
        for touch in touches
    }
    whole = [*parts, sorted(tables.items()), sorted(account.name for account in accounts)]
    return hashlib.sha256(json.dumps(whole, default=str).encode()).hexdigest()


def _policy_facts(policy: Any) -> object:
    """Return the parts of a table's policy that can change an answer."""
    if policy is None:
        return None
    columns = [
        [c.name, c.bounds, c.values, c.references, sorted(c.drafted), c.has_private_bounds]
        for c in policy.columns
    ]
    return [policy.unit, policy.unit_period, policy.limits, columns]
