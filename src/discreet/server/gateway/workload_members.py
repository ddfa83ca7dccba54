"""Which workload of the server's policy a query belongs to, and which of its statements it is."""

from __future__ import annotations

from sqlglot import exp

from discreet.answer.statement import DIALECT, parse_question
from discreet.errors import DiscreetError, StatementFailed
from discreet.policy.answer_model import WorkloadPolicy
from discreet.policy.model import Policy
from discreet.server.gateway.aggregate_grants import name_tables


def find_member(
    policy: Policy | None, name: str, query: exp.Query
) -> tuple[WorkloadPolicy, int] | None:
    """Return the workload that a session has chosen and the place of a query in it, None if it is in none.

    Raises:
        StatementFailed: 22023, the policy declares no workload of that name.
    """
    if not name:
        return None
    declared = policy.workloads.get(name) if policy is not None else None
    if declared is None:
        raise StatementFailed(
            "22023",
            f"the server's policy declares no workload '{name}'",
            hint="SET discreet.workload to one that it declares, or RESET discreet.workload.",
        )
    wanted = _normal_form(name_tables(query))
    for place, text in enumerate(declared.queries):
        if _normal_form(name_tables(parse_member(place + 1, text))) == wanted:
            return declared, place
    return None


def parse_member(number: int, text: str) -> exp.Query:
    """Return a statement of a workload as a tree.

    Raises:
        StatementFailed: 42601, the policy has a statement that cannot be read.
    """
    try:
        return parse_question(text)
    except DiscreetError as error:
        raise StatementFailed(
            "42601",
            f"statement {number} of the workload: {error}",
            hint="Correct it in the server's policy.",
        ) from None


def _normal_form(query: exp.Query) -> str:
    # Read again: parsers of several dialects name the same function differently.
    text = query.sql(dialect=DIALECT, comments=False)
    return parse_question(text).sql(dialect=DIALECT, normalize=True, comments=False)
