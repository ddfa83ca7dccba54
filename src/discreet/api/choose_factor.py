"""`discreet.choose_factor`: which of several columns matters most, chosen by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from discreet.answer.curator import open_curator
from discreet.answer.mechanism import find_protected_table, mechanism_terms, release_mechanism
from discreet.answer.wording import format_amounts
from discreet.api.declarations import DECLARATIONS, declare_columns
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.errors import RiskNotTolerated, WrongUsage
from discreet.formatting import join_names
from discreet.learning.factor_choice import FactorChoice, FactorRequest
from discreet.learning.features import choose_features
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
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
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    stated = {name: given.get(name) for name in DECLARATIONS} | {"table": table}
    with (
        follow_phases(progress, first="opening") as step,
        open_curator(
            source,
            declare_columns(source, loaded, stated),
            ledger=ledger,
            analyst=analyst,
            table=table,
            delimiter=delimiter,
            encoding=encoding,
            memory=memory,
        ) as curator,
    ):
        held = find_protected_table(curator.catalog, table)
        asked = _require_policy(held.policy)
        space = choose_features(asked, held.planned_columns, target=target, features=list(among))
        request = FactorRequest(space, bins, to_fraction(epsilon))
        points = find_unsure(asked, among=[one.name for one in space.columns])
        if points:
            raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        coded = [(one.name, one.code, one.size) for one in space.columns]
        terms = mechanism_terms(curator, held.name, coded)
        step("choosing", 0, 1)
        paid = release_mechanism(
            curator,
            held.name,
            coded,
            price=request.price,
            request=request.key(),
            question=f"choose a factor of {target} in {held.name}",
            mechanism=lambda counter: str(request.choose(counter)).encode(),
        )
        names = tuple(one.name for one in space.features)
        chosen = names[int(paid.content)]
        unit_name = held.unit or "row"
        margin = request.margin(terms.rows_per_unit)
        return FactorChoice(
            source=held.table.label,
            table=held.name,
            verdict=(
                f"Of {join_names(list(names))}, '{chosen}' was chosen as what matters most for '{target}': "
                f"{format_amounts(float(request.epsilon), 0.0)} for each {unit_name}. A factor that is {margin:,.0f} "
                "rows ahead is chosen with a chance of 95 % or more."
            ),
            target=target,
            chosen=chosen,
            among=names,
            margin=margin,
            epsilon=float(request.epsilon),
            unit=unit_name,
            rows_per_unit=terms.rows_per_unit,
            spent=paid.spent,
            remaining=paid.remaining,
            cached=paid.cached,
            cautions=paid.cautions,
        )


def _require_policy(policy: TablePolicy | None) -> TablePolicy:
    if policy is None:
        raise WrongUsage(
            "A choice needs to know which values are possible. Write a policy with `discreet init`, or declare "
            "columns: bounds={'age': (0, 110)}, values={'sex': ['f', 'm']}."
        )
    return policy
