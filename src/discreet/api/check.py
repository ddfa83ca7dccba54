"""`discreet.check`: whether a table meets the criteria of its policy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.errors import WrongUsage
from discreet.measure.assess import assess
from discreet.measure.assessment import Assessment
from discreet.policy.model import Policy


def check(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path,
    *,
    against: object = None,
    weight: str | None = None,
    household: str | None = None,
    rows_are_people: bool = False,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Assessment:
    """Return whether `source` meets every criterion of its policy: `holds`, and `is_tolerable`.

    A table is safe enough when both are true: every criterion holds, and no more people are exposed
    than the policy tolerates.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: The policy whose criteria must hold, or the path of its file.
        against: The population, for k-map and δ-presence.
        weight: The column of a survey's sampling weights, if the policy does not say it.
        household: The column that links the people of a household, if the policy does not say it.
        rows_are_people: The policy's unit is not in the table, and each row is another person.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        WrongUsage: The policy has no criteria for this table.

    >>> found = check("patients.csv", "policy.yaml")
    >>> found.holds, [verdict.criterion for verdict in found.criteria if not verdict.holds][0]
    (False, 'k-anonymity')
    """
    found = assess(
        source,
        policy,
        against=against,
        weight=weight,
        household=household,
        rows_are_people=rows_are_people,
        depth=0,
        table=table,
        delimiter=delimiter,
        encoding=encoding,
        memory=memory,
        progress=progress,
    )
    if not found.criteria:
        raise WrongUsage(
            "The policy has no criteria for this table, so there is nothing to check. Add "
            "`criteria:` to it, such as `- k-anonymity: {k: 5}`."
        )
    return found
