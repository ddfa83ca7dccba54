"""What an analyst is shown before anything is paid."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import discreet
from discreet.errors import DiscreetError
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def shown_before_paying(
    path: Path, policy: str | None, questions: Sequence[str], *, ledger: Path | str
) -> list[str]:
    """Return all of it, without the file's name: plans with queries, prices, refusals, errors."""
    loaded = parse_policy(policy) if policy else None
    result: list[str] = []
    with discreet.open(path, loaded, ledger=ledger) as curator:
        for question in questions:
            try:
                plan, text = curator.plan(question, epsilon=1)
                found = curator.explain_plan(plan, text)
                result.append(json.dumps([found.to_dict(), str(curator.shape(plan))], default=str))
            except DiscreetError as error:
                result.append(f"{error.code}: {error}")
    return [line.replace(str(path), "") for line in result]
