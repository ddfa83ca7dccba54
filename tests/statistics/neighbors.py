"""What one person changes in the exact sums of a plan, against what the plan says it can change at most."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.answer import perturb
from discreet.answer.blocks import ROWS
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.answer.cut_rows import CUT_SHARE, exact_bins
from discreet.answer.marginals import count_family
from discreet.answer.plan import make_plan
from discreet.answer.question import key_name
from discreet.answer.resolve import resolve_question
from discreet.answer.statement import parse_question
from discreet.answer.workload import plan_workload
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.engines.render import render_sql
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from discreet.answer.marginals import MarginalsPlan
    from discreet.answer.plan import Plan, PrivateQueryPlan
    from discreet.answer.workload import WorkloadPlan

Cells = Counter[object]
Row = dict[str, Any]

# A row of the table under a view: which tables it belongs to, and with whom it goes.
SET, GOES = "set_number", "goes_with"


@dataclass(frozen=True)
class Change:
    """How far the sums of two neighboring tables are apart, and how far they may be."""

    question: str
    tables: int
    method: str
    name: str
    absolute: int
    squared: int
    most_absolute: int
    most_squared: int

    @property
    def is_within(self) -> bool:
        """Whether the plan's promise holds."""
        return self.absolute <= self.most_absolute and self.squared <= self.most_squared


class Neighbors:
    """Many small sets of tables, each with and without someone, on one engine.

    The tables that questions see are views of one set at a time, so that a plan is made once and
    its own queries run on all of them. A row whose `goes_with` shares a bit with `leaver` is there
    or not, and that is all that neighboring tables differ in.
    """

    def __init__(
        self, sets: Mapping[str, tuple[pa.Schema, list[Row]]], public: Mapping[str, pa.Table]
    ) -> None:
        self._engine = DuckDB()
        self._engine._connection.execute("SET threads = 1")  # which is quicker on so few rows
        self._texts: dict[int, tuple[exp.Query, str]] = {}
        self._tables: dict[str, Table] = {}
        numbers: set[int] = set()
        for name, (schema, rows) in sets.items():
            numbers |= {row[SET] for row in rows}
            hidden = [pa.field(SET, pa.int64()), pa.field(GOES, pa.int64())]
            loaded = pa.Table.from_pylist(rows, schema=pa.schema([*schema, *hidden]))
            below = self._engine.load(loaded.to_reader())
            self._add(name, self._view(name, schema, below))
        for name, table in public.items():
            self._add(name, self._engine.load(table.to_reader()))
        self.numbers = sorted(numbers)

    def _add(self, name: str, relation: exp.Table) -> None:
        self._tables[name] = Table(self._engine, relation, self._engine.columns(relation), name)

    def _view(self, name: str, schema: pa.Schema, below: exp.Table) -> exp.Table:
        columns = ", ".join(f'"{field.name}"' for field in schema)
        text = (
            f'CREATE VIEW "seen_{name}" AS SELECT {columns} FROM {below.sql("duckdb")} WHERE '
            f"{SET} = getvariable('shown') AND ({GOES} & getvariable('leaver')) = 0"
        )
        self._choose(0, 0)
        self._engine._connection.execute(text)
        return exp.to_table(f"seen_{name}")

    def _choose(self, number: int, leaver: int) -> None:
        self._engine._connection.execute(f"SET VARIABLE shown = {number}")
        self._engine._connection.execute(f"SET VARIABLE leaver = {leaver}")

    def close(self) -> None:
        """Release the engine."""
        self._engine.close()

    def run(self, query: exp.Query) -> pa.Table:
        """Run one of the plan's own queries on what is shown; its text is made once."""
        if id(query) not in self._texts:
            self._texts[id(query)] = query, render_sql(query, dialect="duckdb")
        return self._engine._connection.execute(self._texts[id(query)][1]).to_arrow_table()

    def _catalog(self, policy: str, ranks: Mapping[str, str]) -> Catalog:
        loaded = parse_policy(policy)
        held = {
            name: CatalogTable(
                name, table, loaded.tables.get(name), f"table:{name}", "1", ranks.get(name)
            )
            for name, table in self._tables.items()
        }
        return Catalog({name: lambda one=one: one for name, one in held.items()})

    def plan_workload(
        self, questions: Iterable[str], policy: str, ranks: Mapping[str, str]
    ) -> WorkloadPlan:
        """Return how several questions would be answered together."""
        catalog = self._catalog(policy, ranks)
        asked = [(resolve_question(parse_question(one), catalog), one) for one in questions]
        return plan_workload(asked, epsilon=Fraction(1), delta=Fraction(1, 10**6))

    def residual_costs(self, plan: MarginalsPlan, *, leaver: int) -> Iterator[Fraction]:
        """Yield what the leaver costs in rho, on every set."""
        self._texts.clear()
        for number in self.numbers:
            self._choose(number, 0)
            there = count_family(plan, self).residuals
            self._choose(number, leaver)
            gone = count_family(plan, self).residuals
            cost = Fraction(0)
            for item in plan.residuals:
                change = np.ravel(there[item.columns] - gone[item.columns]).astype(object)
                cost += Fraction(int((change * change).sum())) / (2 * item.scale**2)
            yield cost

    def plan(self, question: str, policy: str, **options: Any) -> Plan:
        """Return how a question would be answered; no row plays a part in it."""
        catalog = self._catalog(policy, options.pop("ranks", {}))
        wanted = {
            "epsilon": Fraction(1),
            "delta": Fraction(1, 10**6),
            "noise": None,
            "cut_share": CUT_SHARE,
            **options,
        }
        return make_plan(resolve_question(parse_question(question), catalog), **wanted)

    def changes(self, plan: Plan, *, leaver: int, question: str = "") -> Iterator[Change]:
        """Yield what the leaver changes in each block and probe of a plan, on every set."""
        self._texts.clear()
        for number in self.numbers:
            for leaf in plan.private_queries:
                self._choose(number, 0)
                there = _sums(leaf, self)
                self._choose(number, leaver)
                gone = _sums(leaf, self)
                yield from _compared(leaf, there, gone, question, number)


def _compared(
    leaf: PrivateQueryPlan,
    there: dict[str, Cells],
    gone: dict[str, Cells],
    question: str,
    number: int,
) -> Iterable[Change]:
    for name, most in _promises(leaf).items():
        cells = {*there[name], *gone[name]}
        gaps = [abs(there[name][cell] - gone[name][cell]) for cell in cells]
        squares = sum(gap * gap for gap in gaps)
        yield Change(question, number, leaf.limit.method, name, sum(gaps), squares, *most)


def _promises(leaf: PrivateQueryPlan) -> dict[str, tuple[int, int]]:
    """Return the L1 and the squared L2 sensitivity that the noise of a leaf is made for."""
    found = {item.block.name: (item.sensitivity, item.squared) for item in leaf.blocks}
    for index, probe in enumerate(leaf.distincts):
        found[f"distinct {index}"] = probe.sensitivity, probe.sensitivity**2
    for index, probe in enumerate(leaf.ranks):
        most = probe.rows_per_unit * probe.one
        found[f"rank {index}"] = most, most**2
    if leaf.cut is not None:
        found["cut"] = leaf.cut.sensitivity, leaf.cut.sensitivity**2
    return found


def _sums(leaf: PrivateQueryPlan, engine: Any) -> dict[str, Cells]:
    """Return every exact number of a leaf that gets noise, by group and vertex."""
    groups, sums = perturb._exact_sums(leaf, engine)
    keys = len(leaf.private_query.keys)
    named: list[object] = [()]
    if keys:
        named = [repr(key) for key in zip(*(c.to_pylist() for c in groups.columns()), strict=True)]
    found = {
        name: Counter(
            {
                (group, index): int(value)
                for index, vertex in enumerate(vertices)
                for group, value in zip(named, vertex, strict=True)
            }
        )
        for name, vertices in sums.items()
    }
    for index, probe in enumerate(leaf.distincts):
        found[f"distinct {index}"] = _counted(engine.run(probe.query), keys)
    for index, probe in enumerate(leaf.ranks):
        found[f"rank {index}"] = _counted(engine.run(probe.query), keys + 1)
    if leaf.cut is not None:
        found["cut"] = Counter(dict(enumerate(map(int, exact_bins(engine.run(leaf.cut.query))))))
    return found


def _counted(raw: pa.Table, keys: int) -> Cells:
    names = [key_name(index) for index in range(keys)]
    cells: Cells = Counter()
    for row in raw.to_pylist():
        cells[repr([row[name] for name in names])] += int(row[ROWS] or 0)
    return cells
