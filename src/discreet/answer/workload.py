"""Several questions at once: priced as one, with shares and measurements for the least total error.

Counts by public keys that are about the same rows form a family, whose residuals are measured once. Everything else
is measured as a question alone would be, with its share of the price. Errors are in rows: the noise of a sum is
divided by what one row can add to it, and a quantile counts as a count does. What costs a share r of rho has a total
squared error of e / r for some e, so that shares in proportion to the roots of e make the total least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sqlglot import exp

from discreet.answer.blocks import UNITS
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.keys import KeyDomain, find_key_domain
from discreet.answer.marginals import (
    MarginalFamily,
    MarginalsPlan,
    answer_leaf,
    family_key,
    is_marginal,
    leaf_plan,
    make_family,
    plan_family,
)
from discreet.answer.perturb import ReleasedTable
from discreet.answer.plan import (
    Noise,
    Plan,
    PrivateQueryPlan,
    QueryDraft,
    draft_query,
    plan_draft,
    require_budget,
)
from discreet.answer.question import PrivateQuery, Question
from discreet.answer.rows import TouchedTable
from discreet.dp import event as events
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.accounting.exact import ceil_to
from discreet.dp.accounting.pricing import price
from discreet.dp.budget import Price
from discreet.dp.mechanisms.residuals import least_error_shares
from discreet.errors import Bug, DiscreetError, InvalidBudget, QuestionRefused

# How a workload is measured. The last two measure each question apart, to compare with.
Strategy = Literal["residuals", "shares", "equal"]
ASSUMED_GROUPS = 10  # of a question whose keys are not public
_NOISE: Noise = "gaussian"
_PLACES = 30  # of a price in rho
LAYOUT = 1  # of what the ledger keeps of a workload: another one is another workload


@dataclass(frozen=True)
class PlannedStatement:
    """One question of a workload: how it is finished, and what each of its leaves is answered by."""

    number: int  # its place in the workload, from 1
    plan: Plan
    families: tuple[MarginalsPlan | None, ...]


@dataclass(frozen=True)
class WorkloadPlan:
    """Several questions with their noise and their price; `event` is what will have been done."""

    statements: tuple[PlannedStatement, ...]
    private_queries: tuple[PrivateQueryPlan | MarginalsPlan, ...]
    noise: Noise
    epsilon: Fraction
    delta: Fraction
    event: events.Event
    price: Price
    cut_share: Fraction
    texts: tuple[str, ...]  # of the statements: each once, in an order of their own
    asked: tuple[int, ...]  # which statement answers each question that was asked

    @property
    def touches(self) -> tuple[TouchedTable, ...]:
        """The protected tables that it reads, and the parts of them."""
        return tuple(
            touch for leaf in self.private_queries for touch in leaf.private_query.rows.touches
        )

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know of counts by keys of one column in several forms: they agree in totals only."""
        found = [
            f"Two keys are made of '{name}'. Noise is drawn for each, so that their counts agree in the total "
            "only: take the finer one, and add up its groups."
            for plan in self.private_queries
            if isinstance(plan, MarginalsPlan)
            for name in _shared_columns(plan.private_query.keys)
        ]
        return tuple(dict.fromkeys(found))

    @property
    def text(self) -> str:
        """The normal form of all statements, which the ledger keeps."""
        return "; ".join(self.texts)


def _shared_columns(keys: Sequence[TypedExpression]) -> list[str]:
    """Return the columns that more than one key is made of."""
    used = [name for key in keys for name in {one.name for one in key.tree.find_all(exp.Column)}]
    return sorted(name for name, times in Counter(used).items() if times > 1)


@contextmanager
def name_statement(number: int) -> Generator[None]:
    """Put the number of a statement before the message of what goes wrong with it."""
    try:
        yield
    except DiscreetError as error:
        error.args = (f"Statement {number}: {error}", *error.args[1:])
        raise


def leaf_name(number: int, leaf: PrivateQuery) -> str:
    """Return the name of what is released for one leaf of a statement."""
    return f"{number}.{leaf.name}"


@dataclass(frozen=True)
class _Leaf:
    """A leaf of a statement, and either its draft or the number of its family."""

    number: int
    query: PrivateQuery
    domain: KeyDomain | None
    draft: QueryDraft | None
    family: int | None


def plan_workload(
    asked: Sequence[tuple[Question, str]],
    *,
    epsilon: Fraction,
    delta: Fraction,
    cut_share: Fraction = Fraction(0),
    strategy: Strategy = "residuals",
) -> WorkloadPlan:
    """Return the plan of all questions whose price is at most (`epsilon`, `delta`) for all of them together.

    `asked` are the questions, each with its normal form. In which order they are asked, and how often,
    changes nothing.

    Raises:
        QuestionRefused: There is no private answer to one of them; the message has its number.
        InvalidBudget: There is no delta, which Gaussian noise needs.
    """
    require_budget(epsilon, delta, None, cut_share)
    if not delta:
        raise InvalidBudget(
            "A workload is measured with Gaussian noise, which needs a delta, such as 1e-6."
        )
    texts = sorted({text for _, text in asked})
    first = [next(i for i, (_, text) in enumerate(asked) if text == one) for one in texts]
    questions = [asked[place][0] for place in first]
    leaves, families = _draft_leaves(questions, [place + 1 for place in first], strategy)
    slips = sum(leaf.domain is None for leaf in leaves)
    each = delta / (slips + 1)
    plans, found = _measure_leaves(leaves, families, (epsilon, each, cut_share), strategy)
    own = [(leaf, plan) for leaf, plan in zip(leaves, found, strict=True) if leaf.draft is not None]
    event = events.Sequence((*(plan.event for plan in plans), *(plan.event for _, plan in own)))
    cost = price(event)
    # The exact sum of hundreds of fractions has thousands of digits; rounded up, it still costs no more
    # than was asked for.
    rho = None if cost.rho is None else ceil_to(cost.rho, places=_PLACES)
    paid = Price(epsilon, delta, rho, cost.slip)
    renamed = (
        replace(plan, private_query=replace(leaf.query, name=leaf_name(leaf.number, leaf.query)))
        for leaf, plan in own
    )
    return WorkloadPlan(
        _gather_statements(questions, leaves, found, plans, (epsilon, delta, paid)),
        (*plans, *renamed),
        _NOISE,
        epsilon,
        delta,
        event,
        paid,
        cut_share,
        tuple(texts),
        tuple(texts.index(text) for _, text in asked),
    )


def _measure_leaves(
    leaves: Sequence[_Leaf],
    families: Sequence[MarginalFamily],
    budget: tuple[Fraction, Fraction, Fraction],
    strategy: Strategy,
) -> tuple[list[MarginalsPlan], list[PrivateQueryPlan]]:
    """Return the noise of each family and of each leaf, for (epsilon, delta) and a share for rows cut off."""
    epsilon, slip, cut_share = budget
    whole = rho_of_epsilon(epsilon, delta=slip)
    if not whole:
        raise InvalidBudget(
            "No Gaussian noise is large enough for this epsilon and delta. Give larger ones."
        )
    drafts = [leaf.draft for leaf in leaves if leaf.draft is not None]
    cuts = sum(draft.is_cut for draft in drafts) + sum(family.is_cut for family in families)
    of_cut = whole * cut_share / cuts if cuts else Fraction(0)
    shares = _divide_shares(drafts, families, whole - of_cut * cuts, strategy)
    plans: list[MarginalsPlan] = []
    for family in families:
        mine = [next(shares) for _ in family.subsets]
        plans.append(plan_family(family, mine, of_cut))
    return plans, [_plan_leaf(leaf, plans, shares, of_cut, slip) for leaf in leaves]


def _draft_leaves(
    questions: Sequence[Question], named: Sequence[int], strategy: Strategy
) -> tuple[list[_Leaf], list[MarginalFamily]]:
    """Return all leaves, each with its draft or its family."""
    leaves: list[_Leaf] = []
    members: dict[tuple[object, ...], list[PrivateQuery]] = {}
    numbers: dict[tuple[object, ...], int] = {}
    for number, question in enumerate(questions, 1):
        for query in question.private_queries:
            with name_statement(named[number - 1]):
                _require_declared_bounds(question)
                domain = find_key_domain(query.keys)
                draft = draft_query(query, _NOISE)
            if strategy != "residuals" or not is_marginal(query, domain):
                leaves.append(_Leaf(number, query, domain, draft, None))
                continue
            key = family_key(query)
            members.setdefault(key, []).append(query)
            family = numbers.setdefault(key, len(numbers))
            leaves.append(_Leaf(number, query, domain, None, family))
    families = [
        make_family(f"marginals {number}", queries)
        for number, queries in enumerate(members.values(), 1)
    ]
    return leaves, families


def _require_declared_bounds(question: Question) -> None:
    if question.searched:
        columns = ", ".join(f"'{column}' of '{table}'" for table, column in question.searched)
        raise QuestionRefused(
            f"The bounds of {columns} are private, and finding them has a price of its own. Ask this "
            "question alone, or declare `bounds: {public: [low, high]}` in the policy."
        )


def _divide_shares(
    drafts: Sequence[QueryDraft],
    families: Sequence[MarginalFamily],
    whole: Fraction,
    strategy: Strategy,
) -> Generator[Fraction]:
    """Yield the share of each residual of each family, then that of each mechanism of each draft's."""
    counts = [draft.mechanisms for draft in drafts]
    if strategy == "equal":
        yield from (whole / len(drafts) / count for count in counts)
        return
    errors = [error for family in families for error in family.residual_errors()]
    # The mechanisms of a leaf have equal shares of what the leaf gets.
    errors += [_draft_error(draft) * count for draft, count in zip(drafts, counts, strict=True)]
    shares = least_error_shares(errors, whole)
    parts = [1] * (len(shares) - len(counts)) + counts
    yield from (share / part for share, part in zip(shares, parts, strict=True))


def _draft_error(draft: QueryDraft) -> float:
    """Return the total squared error of a leaf in rows, if each of its mechanisms had a price of 1."""
    limit = draft.limit
    cells = draft.domain.size if draft.domain is not None else ASSUMED_GROUPS
    changes = limit.squared * limit.change**2
    people = (limit.groups or limit.rows) * limit.change**2
    squares = sum(
        (people if block.name == UNITS else changes) * len(block.vertices) for block in draft.blocks
    )
    squares += limit.rows**2 * (len(draft.distincts) + len(draft.ranks))
    return cells * squares / 2


def _plan_leaf(
    leaf: _Leaf,
    families: Sequence[MarginalsPlan],
    shares: Generator[Fraction],
    of_cut: Fraction,
    slip: Fraction,
) -> PrivateQueryPlan:
    if leaf.draft is not None:
        return plan_draft(leaf.draft, next(shares), of_cut, slip, _NOISE)
    if leaf.family is None or leaf.domain is None:
        raise Bug("A leaf has neither a draft nor a family.")
    return leaf_plan(families[leaf.family], leaf.query, leaf.domain)


def _gather_statements(
    questions: Sequence[Question],
    leaves: Sequence[_Leaf],
    plans: Sequence[PrivateQueryPlan],
    families: Sequence[MarginalsPlan],
    paid: tuple[Fraction, Fraction, Price],
) -> tuple[PlannedStatement, ...]:
    """Return how each question is finished; each carries the price of all of them."""
    epsilon, delta, cost = paid
    found: list[PlannedStatement] = []
    for number, question in enumerate(questions, 1):
        mine = [place for place, leaf in enumerate(leaves) if leaf.number == number]
        own = tuple(plans[place] for place in mine)
        used = tuple(
            None if (family := leaves[place].family) is None else families[family] for place in mine
        )
        event = events.Sequence(tuple(plan.event for plan in own))
        plan = Plan(question, own, _NOISE, epsilon, delta, event, cost)
        found.append(PlannedStatement(number, plan, used))
    return tuple(found)


def statement_tables(
    statement: PlannedStatement, released: Mapping[str, ReleasedTable]
) -> dict[str, ReleasedTable]:
    """Return the released tables of one statement, by the names of its leaves."""
    found: dict[str, ReleasedTable] = {}
    for leaf, family in zip(statement.plan.private_queries, statement.families, strict=True):
        query = leaf.private_query
        if family is None:
            found[query.name] = released[leaf_name(statement.number, query)]
        else:
            found[query.name] = answer_leaf(family, leaf, released[family.private_query.name])
    return found
