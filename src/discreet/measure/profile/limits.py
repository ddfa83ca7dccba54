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
    size = exp.cast(build.column("n"), "DOUBLE")
    kept = [
        build.alias_as(
            build.sum_integers(
                exp.Case(
                    ifs=[
                        exp.If(
                            this=exp.LT(this=size.copy(), expression=build.number(step)),
                            true=size.copy(),
                        )
                    ],
                    default=exp.cast(build.number(step), "DOUBLE"),
                )
            ),
            f"k{step}",
        )
        for step in _STEPS
    ]
    query = build.select(
        build.alias_as(build.sum_integers(size.copy()), "rows"),
        *kept,
        source=build.subquery(sizes, "sizes"),
    )
    found = table.engine.run(query).to_pylist()[0]
    rows = float(found["rows"] or 0)
    shares = {step: 1 - float(found[f"k{step}"]) / rows if rows else 0.0 for step in _STEPS}
    most = next((step for step, share in shares.items() if share <= LEFT_OUT), _STEPS[-1])
    return RowsPerUnit(most, shares[most])
