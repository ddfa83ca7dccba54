"""`discreet.choose_factor`: which of several columns matters most, chosen by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.answer.catalog import CatalogTable, require_named_columns, require_policy
from discreet.answer.coded_counts import ColumnCode
from discreet.answer.curator import Curator, open_curator
from discreet.answer.mechanism import find_protected_table, mechanism_terms, release_mechanism
from discreet.answer.wording import format_amounts
from discreet.api.declarations import DECLARATIONS, declare_columns
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.errors import RiskNotTolerated
from discreet.formatting import join_names
from discreet.learning.factor_choice import FactorChoice, FactorExplanation, FactorRequest
from discreet.learning.features import choose_features
from discreet.policy.load import load_policy
from discreet.policy.model import Policy
from discreet.policy.undecided import find_unsure
from discreet.progress import follow_phases


def choose_factor(  # noqa: PLR0913 -- what is chosen, among what, and for how much
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    target: str,
    among: Sequence[str],
    bins: int = 8,
    epsilon: ExactNumber = 1,
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
) -> FactorChoice:
    """Return the column that goes with the target the most, and charge the choice to the ledger.

    Each column's score is how many rows its table with the target has more, in some cells, than it had if both were
    independent. One column is chosen with a chance that grows exponentially with its score; scores are not released.
    The same request on the same data gives the same choice, free.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; what is given here is added to it.
        target: What the factors are compared for, such as a diagnosis.
        among: The factors: two columns or more.
        bins: Into how many ranges of the same width numbers are divided.
        epsilon: What the choice costs.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people: never factors.
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

    Raises:
        UndeclaredDomain: A column has neither values nor bounds; the message names all of them.
        BudgetExceeded: Too little is left; nothing was spent.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [30, 60] * 500, "sex": ["f", "f", "m", "m"] * 250, "ill": [False, True] * 500})
    >>> found = choose_factor(
    ...     people, target="ill", among=["age", "sex"], bounds={"age": (0, 110)}, values={"sex": ["f", "m"]}
    ... )
    >>> found.chosen, found.spent["epsilon"]
    ('age', 1.0)
    """
    given = dict(locals())
    with (
        follow_phases(progress, first="opening") as step,
        _open_choice(source, policy, given) as opened,
    ):
        step("choosing", 0, 1)
        return opened.choose()


def explain_factor(  # noqa: PLR0913 -- the options of `choose_factor`
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    target: str,
    among: Sequence[str],
    bins: int = 8,
    epsilon: ExactNumber = 1,
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
) -> FactorExplanation:
    """Return what `choose_factor` with the same options would cost; nothing is read or spent.

    Args:
        source: A path, a URL, or a frame.
        policy: A policy or the path of its file; what is given here is added to it.
        target: What the factors are compared for.
        among: The factors: two columns or more.
        bins: Into how many ranges of the same width numbers are divided.
        epsilon: What the choice costs.
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

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"], "smokes": [True, False], "ill": [False, True]})
    >>> found = explain_factor(people, target="ill", among=["sex", "smokes"], values={"sex": ["f", "m"]})
    >>> round(found.margin, 1), found.epsilon
    (11.8, 1.0)
    """
    given = dict(locals())
    with _open_choice(source, policy, given) as opened:
        return opened.explain()


_READING = ("ledger", "analyst", "table", "delimiter", "encoding", "memory")


@contextmanager
def _open_choice(
    source: object, policy: Policy | str | Path | None, given: Mapping[str, Any]
) -> Generator[_OpenChoice]:
    """Open the source with its policy; all that can be refused without rows is refused here."""
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    stated = {name: given.get(name) for name in DECLARATIONS} | {"table": given["table"]}
    reading: dict[str, Any] = {name: given[name] for name in _READING}
    with open_curator(source, declare_columns(source, loaded, stated), **reading) as curator:
        held = find_protected_table(curator.catalog, given["table"])
        asked = require_policy(held, "A choice")
        require_named_columns(held, [given["target"], *given["among"]])
        space = choose_features(
            asked, held.planned_columns, target=given["target"], features=list(given["among"])
        )
        request = FactorRequest(space, given["bins"], to_fraction(given["epsilon"]))
        points = find_unsure(asked, among=[one.name for one in space.columns])
        if points:
            raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        yield _OpenChoice(curator, held, request)


@dataclass(frozen=True)
class _OpenChoice:
    """A choice that is to be made: its curator, its table, and what is asked for."""

    curator: Curator
    held: CatalogTable
    request: FactorRequest

    @property
    def _column_codes(self) -> list[ColumnCode]:
        return [(one.name, one.code, one.size) for one in self.request.space.columns]

    @property
    def _shared_facts(self) -> dict[str, Any]:
        """What is the same before and after the choice."""
        request = self.request
        terms = mechanism_terms(self.curator, self.held.name, self._column_codes)
        target = request.space.target
        return {
            "source": self.held.table.label,
            "table": self.held.name,
            "target": "" if target is None else target.name,
            "among": tuple(one.name for one in request.space.features),
            "margin": request.margin(terms.rows_per_unit),
            "epsilon": float(request.epsilon),
            "unit": self.held.unit or "row",
            "rows_per_unit": terms.rows_per_unit,
            "remaining": terms.remaining,
            "cautions": terms.cautions,
        }

    def explain(self) -> FactorExplanation:
        """Return price and margin; no row is read."""
        facts = self._shared_facts
        cost = format_amounts(facts["epsilon"], 0.0)
        verdict = (
            f"A choice of what matters most for '{facts['target']}' would cost {cost}. {_word_margin(facts['margin'])} "
            "Nothing was read or spent."
        )
        return FactorExplanation(verdict=verdict, **facts)

    def choose(self) -> FactorChoice:
        """Charge the request, and return the choice: the same one whenever the same is asked for."""
        request, facts = self.request, self._shared_facts
        paid = release_mechanism(
            self.curator,
            self.held.name,
            self._column_codes,
            price=request.price,
            request=request.key(),
            question=f"choose a factor of {facts['target']} in {self.held.name}",
            mechanism=lambda counter: str(request.choose(counter)).encode(),
        )
        chosen = facts["among"][int(paid.content)]
        verdict = (
            f"Of {join_names(list(facts['among']))}, '{chosen}' was chosen as what matters most for '{facts['target']}': "
            f"{format_amounts(facts['epsilon'], 0.0)} for each {facts['unit']}. {_word_margin(facts['margin'])}"
        )
        facts |= {"remaining": paid.remaining, "cautions": paid.cautions}
        return FactorChoice(
            verdict=verdict, chosen=chosen, spent=paid.spent, cached=paid.cached, **facts
        )


def _word_margin(margin: float) -> str:
    return f"A factor that is {margin:,.0f} rows ahead is chosen with a chance of 95 % or more."
