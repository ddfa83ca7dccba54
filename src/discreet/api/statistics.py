"""`discreet.statistics`: classical statistics that know their noise, from counts of the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.answer.catalog import CatalogTable, require_named_columns, require_policy
from discreet.answer.curator import Curator, open_curator
from discreet.answer.mechanism import (
    MechanismResult,
    MechanismTerms,
    find_protected_table,
    mechanism_terms,
    release_mechanism,
)
from discreet.answer.wording import format_amounts
from discreet.api.declarations import DECLARATIONS, declare_columns
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.errors import RiskNotTolerated
from discreet.formatting import format_count
from discreet.learning.request import DEFAULT_DELTA
from discreet.learning.statistics.kinds import STATISTICS
from discreet.learning.statistics.record import StatisticExplanation, StatisticResult
from discreet.learning.statistics.request import StatisticRequest, plan_statistic
from discreet.learning.statistics.variables import Variables, choose_variables, word_columns
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.progress import follow_phases


def statistics(  # noqa: PLR0913 -- the options of the command
    source: object,
    kind: str,
    policy: Policy | str | Path | None = None,
    *,
    columns: Sequence[str],
    by: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    confidence: float = 0.95,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **options: object,
) -> StatisticResult:
    """Return a private statistic of a table, and charge it to the ledger.

    The engine bounds rows and counts them; counts and sums get noise, and all else follows from them: estimates,
    intervals and p-values that allow for the noise. What was measured once is free, also at another level of
    confidence.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        kind: Which statistic: `histogram`, `cdf`, `correlation`, `contingency`, `chi-square`, `proportion`,
            `t-test`, `anova`, `survival`, `rates`, or one of an installed package.
        policy: A policy or the path of its file; what is given here is added to it.
        columns: What is measured.
        by: The column of groups that are compared.
        epsilon: What the statistic costs.
        delta: The chance that Gaussian noise does not cover; by default 1e-9. With 0, noise is Laplace's.
        confidence: How often intervals hold; tests reject at 1 less this.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people: never measured.
        unit: The column that says whose rows they are; by default each row is a person.
        rows_per_unit: How many rows of a unit count; the others are left out by chance.
        bounds: Public bounds of numbers, such as `{"age": (0, 110)}`.
        values: Public values of categories, such as `{"sex": ["f", "m"]}`.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.
        options: Options of the kind, such as `bins=10` for a histogram.

    Raises:
        UndeclaredDomain: A column has neither values nor bounds; the message names all of them.
        BudgetExceeded: Too little is left; nothing was spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [30, 50] * 900, "ill": [False, True] * 900})
    >>> found = statistics(people, "t-test", columns=["age"], by="ill", bounds={"age": (0, 110)}, epsilon=2)
    >>> found.test.p_value < 0.05, [row.quantity for row in found.rows]
    (True, ['mean', 'mean', 'difference of means'])
    """
    given = dict(locals())
    with (
        follow_phases(progress, first="opening") as step,
        _open_statistic(source, policy, given) as opened,
    ):
        step("counting", 0, 1)
        return opened.describe(opened.pay())


def explain_statistics(  # noqa: PLR0913 -- the options of the command
    source: object,
    kind: str,
    policy: Policy | str | Path | None = None,
    *,
    columns: Sequence[str],
    by: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    confidence: float = 0.95,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    **options: object,
) -> StatisticExplanation:
    """Return what `statistics` with the same options would cost, and how much noise it gets; nothing is read or spent.

    Args:
        source: A path, a URL, or a frame.
        kind: Which statistic.
        policy: A policy or the path of its file; what is given here is added to it.
        columns: What is measured.
        by: The column of groups that are compared.
        epsilon: What the statistic costs.
        delta: The chance that Gaussian noise does not cover.
        confidence: How often intervals hold.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people.
        unit: The column that says whose rows they are.
        rows_per_unit: How many rows of a unit count.
        bounds: Public bounds of numbers.
        values: Public values of categories.
        ledger: A file or a `postgresql://` URL.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        options: Options of the kind.

    >>> import pyarrow
    >>> people = pyarrow.table({"ill": [False, True] * 500})
    >>> asked = explain_statistics(people, "histogram", columns=["ill"], sensitive=["ill"], delta=0)
    >>> asked.numbers, round(asked.errors["cells"], 3)
    (2, 1.414)
    """
    given = dict(locals())
    with _open_statistic(source, policy, given) as opened:
        return opened.explain()


_READING = ("ledger", "analyst", "table", "delimiter", "encoding", "memory")


@contextmanager
def _open_statistic(
    source: object, policy: Policy | str | Path | None, given: Mapping[str, Any]
) -> Generator[_OpenStatistic]:
    """Open the source with its policy; all that can be refused without data is refused here."""
    kind = STATISTICS.get(given["kind"])
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    declared = declare_columns(
        source,
        loaded,
        {name: given.get(name) for name in DECLARATIONS} | {"table": given.get("table")},
    )
    reading: dict[str, Any] = {name: given.get(name) for name in _READING}
    with open_curator(source, declared, **reading) as curator:
        held = find_protected_table(curator.catalog, given.get("table"))
        asked = require_policy(held, "A statistic")
        names = [given["columns"]] if isinstance(given["columns"], str) else list(given["columns"])
        require_named_columns(held, [*names, *filter(None, [given["by"]])])
        variables = choose_variables(asked, held.planned_columns, names=names, by=given["by"])
        plan = plan_statistic(
            kind, variables, confidence=given["confidence"], stated=given["options"]
        )
        delta = DEFAULT_DELTA if given["delta"] is None else given["delta"]
        request = StatisticRequest(kind, plan, to_fraction(given["epsilon"]), to_fraction(delta))
        yield _OpenStatistic(curator, held, asked, variables, request, given["confidence"])


@dataclass(frozen=True)
class _OpenStatistic:
    """A statistic that is to be computed: its curator, its policy, and what is asked for."""

    curator: Curator
    held: CatalogTable
    policy: TablePolicy
    variables: Variables
    request: StatisticRequest
    confidence: float

    @property
    def terms(self) -> MechanismTerms:
        """What it would be charged to, and how many rows of a unit count."""
        return mechanism_terms(self.curator, self.held.name, self.request.column_codes)

    def explain(self) -> StatisticExplanation:
        """Return price, noise and terms; no row is read."""
        request, terms = self.request, self.terms
        price = format_amounts(float(request.epsilon), float(request.delta))
        parts = request.plan.look.parts
        count = sum(math.prod(part.shape) for part in parts)
        numbers = format_count(count, "noisy number", "noisy numbers")
        named = word_columns(self.variables)
        verdict = (
            f"The {request.kind.name} of {named} would cost {price}, for {numbers}. "
            "Nothing was read or spent."
        )
        return StatisticExplanation(
            **self._describe_terms(terms),
            verdict=verdict,
            numbers=count,
            errors=request.predict_errors(sensitivity=terms.sensitivity),
            remaining=terms.remaining,
            cautions=(*terms.cautions, *_caution_rows(terms)),
        )

    def _describe_terms(self, terms: MechanismTerms) -> dict[str, Any]:
        request, by = self.request, self.variables.by
        unit, period = self.policy.unit, self.policy.unit_period
        words = "row" if unit is None else unit
        if unit is not None and period is not None:
            words = f"{unit} in one {period.period} of {period.column}"
        return {
            "source": self.held.table.label,
            "table": self.held.name,
            "kind": request.kind.name,
            "columns": tuple(column.name for column in self.variables.columns),
            "by": None if by is None else by.name,
            "epsilon": float(request.epsilon),
            "delta": float(request.delta),
            "unit": words,
            "rows_per_unit": terms.rows_per_unit,
        }

    def pay(self) -> MechanismResult:
        """Charge the request, and return what was measured: the same whenever the same is asked for."""
        request, by = self.request, self.variables.by
        names = [
            column.name for column in (*self.variables.columns, *(() if by is None else (by,)))
        ]
        points = find_unsure(self.policy, among=names)
        if points:
            raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        return release_mechanism(
            self.curator,
            self.held.name,
            request.column_codes,
            price=request.price,
            request=request.key(),
            question=f"statistics {request.kind.name} of {', '.join(names)} in {self.held.name}",
            mechanism=request.measure,
        )

    def describe(self, paid: MechanismResult) -> StatisticResult:
        """Return what follows from what was measured."""
        terms, found = self.terms, self.request.conclude(paid.content)
        return StatisticResult(
            **self._describe_terms(terms),
            verdict=found.verdict,
            rows=found.rows,
            test=found.test,
            covers=found.covers,
            confidence=self.confidence,
            spent=paid.spent,
            remaining=paid.remaining,
            cached=paid.cached,
            cautions=(*paid.cautions, *found.cautions, *_caution_rows(terms)),
        )


def _caution_rows(terms: MechanismTerms) -> tuple[str, ...]:
    if terms.rows_per_unit == 1:
        return ()
    return (
        (
            f"Up to {terms.rows_per_unit:,} rows of a {terms.unit or 'unit'} count. Intervals and tests about a population "
            "take rows for independent; those of one person are not."
        ),
    )
