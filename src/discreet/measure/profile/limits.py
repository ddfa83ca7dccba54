"""How many rows of one person should count in answers: a proposal, and what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.engine import Table
from discreet.sql import build

# The noise grows with the limit, so that a few rows of a few people may be worth less than it.
LEFT_OUT = 0.05
_STEPS = tuple(base * 10**power for power in range(7) for base in (1, 2, 5))


@dataclass(frozen=True)
class RowsPerUnit:
    """A limit on one person's rows, and the share of all rows that it leaves out."""

    most: int
    left_out: float

    @property
    def reason(self) -> str:
        """What the limit does, in one sentence."""
        if not self.left_out:
            return "no row is left out of answers; noise grows with the number, and hides a person's rows"
        return (
            f"{100 * self.left_out:.2g} % of the rows are beyond it and left out of answers, which the "
            "noise does not show; a larger number leaves out fewer and adds more noise"
        )


def propose_rows_per_unit(table: Table, unit: str) -> RowsPerUnit:
    """Return the smallest round limit that leaves out few rows, counted by the engine."""
    person = build.column(unit)
    sizes = (
        build.select(build.alias_as(build.count_star(), "n"), source=table.relation.copy())
        .where(exp.not_(build.is_null(person)))
        .group_by(person.copy())
    )
    histogram = build.select(
        build.column("n"),
        build.alias_as(build.count_star(), "people"),
        source=build.subquery(sizes, "sizes"),
    ).group_by(build.column("n"))
    found = table.engine.run(histogram).to_pylist()
    counts = [(int(row["n"]), int(row["people"])) for row in found]
    rows = sum(size * people for size, people in counts)
    kept = {step: sum(min(size, step) * people for size, people in counts) for step in _STEPS}
    shares = {step: 1 - kept[step] / rows if rows else 0.0 for step in _STEPS}
    most = next((step for step, share in shares.items() if share <= LEFT_OUT), _STEPS[-1])
    return RowsPerUnit(most, shares[most])
