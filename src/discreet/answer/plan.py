"""The plan of a question under a budget: queries, noise and price; no data is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, isqrt, log
from typing import Literal

from sqlglot import exp

from discreet.answer import bounded_queries
from discreet.answer.aggregates import Aggregate, AggregateKind
from discreet.answer.blocks import (
    FINEST,
    FINEST_SCALED,
    ROWS,
    UNITS,
    SumBlock,
    bernstein_block,
    row_count_block,
    step_index,
)
from discreet.answer.contribution import Contribution, contribution_limits
from discreet.answer.cut_rows import ONE as WHOLE
from discreet.answer.cut_rows import CutProbe, cut_query, may_cut_rows
from discreet.answer.expressions.typed import TypedExpression
from discreet.answer.keys import KeyDomain, find_key_domain
from discreet.answer.question import PrivateQuery, Question
from discreet.answer.rows import TouchedTable
from discreet.answer.statistics import AggregateReading, assemble_blocks
from discreet.dp import event as events
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.accounting.pricing import price
from discreet.dp.budget import Price
from discreet.dp.mechanisms.partitions import gaussian_threshold, laplace_threshold
from discreet.dp.noise import representable, representable_root
from discreet.engines.engine import Kind
from discreet.errors import Bug, InvalidBudget, QuestionRefused

Noise = Literal["laplace", "gaussian"]
CANDIDATES = 4096  # values that a quantile of a real number may have
_RANKS = (AggregateKind.QUANTILE, AggregateKind.MIN, AggregateKind.MAX)
LARGEST_EPSILON = Fraction(100)


@dataclass(frozen=True)
class NoisyBlock:
    """A block with the noise that every one of its vertices gets."""

    block: SumBlock
    sensitivity: int  # L1
    squared: int  # of the L2 sensitivity
    scale: Fraction


@dataclass(frozen=True)
class RankProbe:
    """A quantile, minimum or maximum: chosen among public values by how many rows lie on each side."""

    aggregate: Aggregate
    query: exp.Select
    low: Fraction
    step: Fraction
    count: int
    rows_per_unit: int
    one: int  # how often a row counts that counts in full
    epsilon: Fraction
    rank: int  # for minimum and maximum: about so many rows lie beyond

    def rank_error(self, confidence: float) -> float:
        """Return how many rows the chosen value may be off in their order, by public numbers only.

        Permute-and-flip misses by t or more with a chance of at most C exp(-epsilon t / 2d) for C
        candidates and scores that a person moves by d (McKenna & Sheldon 2020, theorem 2). One row
        is b units of the score of a quantile a/b, of which it moves max(a, b - a).
        """
        share = self.aggregate.quantile
        moved = 1.0 if share is None else float(max(share, 1 - share))
        return (
            2
            * moved
            * self.rows_per_unit
            * log(self.count / (1 - confidence))
            / float(self.epsilon)
        )


@dataclass(frozen=True)
class DistinctProbe:
    """A number of distinct values."""

    aggregate: Aggregate
    query: exp.Select
    scale: Fraction
    sensitivity: int


@dataclass(frozen=True)
class PrivateQueryPlan:
    """How one leaf is answered."""

    private_query: PrivateQuery
    domain: KeyDomain | None  # None: groups are released only above the threshold
    query: exp.Select | None  # None: there is nothing but probes
    limit: Contribution
    blocks: tuple[NoisyBlock, ...]
    readings: Mapping[Aggregate, AggregateReading]
    ranks: tuple[RankProbe, ...]
    distincts: tuple[DistinctProbe, ...]
    selector: str | None
    threshold: int | None
    cut: CutProbe | None  # None: no limit can cut off rows, or the share is 0
    event: events.Event


@dataclass(frozen=True)
class BoundsSearch:
    """How the bounds of one column are found; once found they are stored under `key`."""

    column: tuple[str, str]  # of a table
    plan: PrivateQueryPlan
    price: Price
    key: str

    @property
    def question(self) -> str:
        """Its name in the ledger."""
        return f"bounds of {self.column[1]} in {self.column[0]}"


@dataclass(frozen=True)
class Plan:
    """A question with its noise and its price; `event` is what will have been done."""

    question: Question
    private_queries: tuple[PrivateQueryPlan, ...]
    noise: Noise
    epsilon: Fraction
    delta: Fraction
    event: events.Event
    price: Price
    cut_share: Fraction = Fraction(0)
    searches: tuple[BoundsSearch, ...] = ()  # for bounds, which come first
    found: Mapping[tuple[str, str], tuple[Fraction, Fraction]] = field(
        default_factory=dict[tuple[str, str], "tuple[Fraction, Fraction]"]
    )  # bounds that were found, by table and column
    paid: Mapping[tuple[str, str], Fraction] = field(
        default_factory=dict[tuple[str, str], Fraction]
    )  # what finding them cost this time

    @property
    def touches(self) -> tuple[TouchedTable, ...]:
        """The protected tables that it reads, and the parts of them."""
        leaves = (*self.private_queries, *(search.plan for search in self.searches))
        return tuple(touch for leaf in leaves for touch in leaf.private_query.rows.touches)


def plan_private_query(
    leaf: PrivateQuery, amount: Fraction, *, slip: Fraction = Fraction(0), noise: Noise = "laplace"
) -> PrivateQueryPlan:
    """Return how one leaf alone is answered for an epsilon, or for a rho where noise is Gaussian.

    `slip` is the chance that a rare group is released, where groups are not public.
    """
    draft = draft_query(leaf, noise)
    return plan_draft(draft, amount / draft.mechanisms, Fraction(0), slip, noise)


def make_plan(
    question: Question,
    *,
    epsilon: Fraction,
    delta: Fraction,
    noise: Noise | None = None,
    cut_share: Fraction = Fraction(0),
) -> Plan:
    """Return the plan whose price is at most (`epsilon`, `delta`).

    Without `noise` the one with the smaller error is taken; Gaussian noise needs a delta. Where limits
    may cut off rows, `cut_share` of epsilon measures how many.
    """
    require_budget(epsilon, delta, noise, cut_share)
    slips = sum(find_key_domain(leaf.keys) is None for leaf in question.private_queries)
    if slips and not delta:
        raise QuestionRefused(
            "The values of a grouping key are not public, so that a rare one could reveal who is in "
            "the table. List them as `values: {public: […]}` of the column in the policy (where `init` "
            "wrote `drafted`, check that they are known without the data and change that word to "
            "`public`), or allow a small chance of it with --delta 1e-6: then groups of few people are "
            "left out."
        )
    kinds: list[Noise] = [noise] if noise else (["laplace", "gaussian"] if delta else ["laplace"])
    plans = [_with_noise(question, epsilon, delta, slips, kind, cut_share) for kind in kinds]
    return min(plans, key=_total_noise)


def require_budget(
    epsilon: Fraction, delta: Fraction, noise: Noise | None, cut_share: Fraction
) -> None:
    """Refuse amounts that no question can cost."""
    if not 0 < epsilon <= LARGEST_EPSILON:
        raise InvalidBudget(
            f"epsilon must be above 0 and at most {LARGEST_EPSILON}; 1 or less protects well."
        )
    if not 0 <= delta < Fraction(1, 2):
        raise InvalidBudget("delta must be 0 or a small chance such as 1e-6.")
    if noise == "gaussian" and not delta:
        raise InvalidBudget("Gaussian noise needs a delta, such as 1e-6.")
    if not 0 <= cut_share < 1:
        raise InvalidBudget(
            "The share of epsilon that measures what limits cut off must be at least 0 and below 1."
        )


@dataclass(frozen=True)
class QueryDraft:
    """How one leaf is answered, before it has noise."""

    leaf: PrivateQuery
    domain: KeyDomain | None
    limit: Contribution
    blocks: tuple[SumBlock, ...]
    readings: Mapping[Aggregate, AggregateReading]
    ranks: tuple[Aggregate, ...]
    distincts: tuple[Aggregate, ...]
    selector: str | None

    @property
    def mechanisms(self) -> int:
        """How many mechanisms share its price."""
        return len(self.blocks) + len(self.ranks) + len(self.distincts)

    @property
    def is_cut(self) -> bool:
        """Whether limits may cut off rows that it is about."""
        only_people = all(item.ask is AggregateKind.COUNT_UNITS for item in self.leaf.aggregates)
        return may_cut_rows(
            self.limit,
            only_people=only_people and bool(self.leaf.aggregates),
            has_keys=bool(self.leaf.keys),
        )


def draft_query(leaf: PrivateQuery, noise: Noise) -> QueryDraft:
    """Return how a leaf is answered with this kind of noise.

    Raises:
        QuestionRefused: There is no private answer to it.
    """
    rows, keys = leaf.rows, leaf.keys
    domain = find_key_domain(keys)
    is_private = domain is None
    if len(leaf.sets) > 1 and (is_private or not _adds_up(leaf)):
        raise QuestionRefused(
            "ROLLUP and CUBE add up counts, sums and means of public groups. List the keys' values "
            "in the policy, and ask for medians, minima, people and distinct values apart."
        )
    by_row = not rows.unit or rows.is_single
    needs_groups = is_private or any(
        item.ask is AggregateKind.COUNT_UNITS for item in leaf.aggregates
    )
    limit = contribution_limits(
        rows,
        has_keys=bool(keys),
        needs_groups=needs_groups,
        by_squares=noise == "gaussian",
    )
    blocks, readings = assemble_blocks(
        leaf.aggregates,
        counts_rows=is_private and by_row,
        counts_units=is_private and not by_row,
        finest=FINEST if limit.one == 1 else FINEST_SCALED,
    )
    selector = (ROWS if by_row else UNITS) if is_private else None
    ranks = tuple(item for item in leaf.aggregates if item.ask in _RANKS)
    distincts = tuple(item for item in leaf.aggregates if item.ask is AggregateKind.COUNT_DISTINCT)
    if not blocks and not ranks and not distincts:
        # Only keys are asked for: then there is one count, for a public key too.
        blocks = (row_count_block(),)
    return QueryDraft(leaf, domain, limit, blocks, readings, ranks, distincts, selector)


def _adds_up(leaf: PrivateQuery) -> bool:
    """Whether the answers of all groups add up to that of their union."""
    # A person who is in two groups is still one person.
    apart = {*_RANKS, AggregateKind.COUNT_DISTINCT} | (
        set() if leaf.rows.is_single else {AggregateKind.COUNT_UNITS}
    )
    return not any(item.ask in apart for item in leaf.aggregates)


def _with_noise(
    question: Question,
    epsilon: Fraction,
    delta: Fraction,
    slips: int,
    noise: Noise,
    cut_share: Fraction,
) -> Plan:
    parts = slips + (noise == "gaussian")
    each = delta / parts if parts else Fraction(0)
    drafts = [draft_query(leaf, noise) for leaf in question.private_queries]
    mechanisms = sum(draft.mechanisms for draft in drafts)
    cuts = sum(draft.is_cut for draft in drafts)
    whole = epsilon if noise == "laplace" else rho_of_epsilon(epsilon, delta=each)
    of_cut = whole * cut_share / cuts if cuts else Fraction(0)
    share = (whole - of_cut * cuts) / mechanisms
    leaves = tuple(plan_draft(draft, share, of_cut, each, noise) for draft in drafts)
    event = events.Sequence(tuple(leaf.event for leaf in leaves))
    found = price(event)
    if noise == "laplace":
        if found.epsilon is None or found.epsilon > epsilon:
            raise Bug("A plan costs more than was asked for.")
        cost = Price(epsilon, each * slips, found.rho, found.slip)
    else:
        cost = Price(epsilon, each * parts, found.rho, found.slip)
    return Plan(question, leaves, noise, epsilon, delta, event, cost, cut_share)


def _total_noise(plan: Plan) -> float:
    """Return how wide the noise is, in rows, over all statistics of a plan."""
    wide = 2**0.5 if plan.noise == "laplace" else 1.0
    scales = [
        wide * float(item.scale) / (item.block.weight * leaf.limit.one)
        for leaf in plan.private_queries
        for item in leaf.blocks
    ]
    scales += [wide * float(item.scale) for leaf in plan.private_queries for item in leaf.distincts]
    scales += [1 / float(item.epsilon) for leaf in plan.private_queries for item in leaf.ranks]
    return sum(log(scale) for scale in scales)


def plan_draft(
    draft: QueryDraft, share: Fraction, of_cut: Fraction, slip: Fraction, noise: Noise
) -> PrivateQueryPlan:
    """Return the leaf with noise that costs `share` for each of its mechanisms."""
    limit = draft.limit
    blocks = tuple(_add_block_noise(block, limit, share, noise) for block in draft.blocks)
    distincts = tuple(_distinct_probe(draft, item, share, noise) for item in draft.distincts)
    ranks = tuple(_rank_probe(draft, item, share, noise) for item in draft.ranks)
    done: list[events.Event] = [
        _noise_event(item.sensitivity, item.squared, item.scale, noise) for item in blocks
    ]
    done += [
        _noise_event(item.sensitivity, item.sensitivity**2, item.scale, noise) for item in distincts
    ]
    done += [events.Choice(item.epsilon) for item in ranks]
    cut = None
    if draft.is_cut and of_cut:
        cut = make_cut_probe(draft.leaf, limit, share=of_cut, noise=noise)
    if cut is not None:
        done.append(cut_event(cut, noise))
    threshold = None
    if draft.selector is not None:
        selector = next(item for item in blocks if item.block.name == draft.selector)
        threshold = _group_threshold(selector, limit, slip, noise)
        done.append(events.Slip(slip))
    query = None
    if draft.blocks:
        query = bounded_queries.main_query(draft.leaf.rows, draft.leaf.keys, draft.blocks, limit)
    return PrivateQueryPlan(
        draft.leaf,
        draft.domain,
        query,
        limit,
        blocks,
        draft.readings,
        ranks,
        distincts,
        draft.selector,
        threshold,
        cut,
        events.Sequence(tuple(done)),
    )


def _noise_event(sensitivity: int, squared: int, scale: Fraction, noise: Noise) -> events.Event:
    if noise == "laplace":
        return events.Laplace(Fraction(sensitivity), scale)
    return events.Gaussian(Fraction(squared), scale)


def _add_block_noise(
    block: SumBlock, limit: Contribution, share: Fraction, noise: Noise
) -> NoisyBlock:
    if block.name == UNITS:
        # A person counts once in each group.
        groups = limit.groups or limit.rows
        sensitivity, squared = groups * limit.change, groups * limit.change**2
    else:
        sensitivity = block.weight * limit.one * limit.rows * limit.change
        squared = (block.weight * limit.one * limit.change) ** 2 * limit.squared
    return NoisyBlock(
        block, sensitivity, squared, _noise_scale(sensitivity, squared, share=share, noise=noise)
    )


def _noise_scale(sensitivity: int, squared: int, *, share: Fraction, noise: Noise) -> Fraction:
    if noise == "laplace":
        return representable(Fraction(sensitivity) / share)
    return representable_root(Fraction(squared) / (2 * share))


def _group_threshold(
    selector: NoisyBlock, limit: Contribution, slip: Fraction, noise: Noise
) -> int:
    """Return the noisy count from which on a group is released."""
    groups = limit.groups or limit.rows
    find = laplace_threshold if noise == "laplace" else gaussian_threshold
    # A person is in a group with one count, or with as many rows as stand for the person.
    alone = limit.per_group if selector.block.name == ROWS else 1
    return find(selector.scale, slip, groups, per_group=alone)


def _distinct_probe(
    draft: QueryDraft, item: Aggregate, share: Fraction, noise: Noise
) -> DistinctProbe:
    rows, limit = draft.leaf.rows, draft.limit
    if item.argument is None:
        raise Bug("count(DISTINCT …) has no argument.")
    query = bounded_queries.distinct_query(rows, draft.leaf.keys, item.argument, limit)
    # Values are always chosen by chance here, so that one may push out another.
    is_chosen = limit.method in ("rescale", "truncate")
    most = limit.rows * (2 if rows.has_children and is_chosen else 1)
    scale = _noise_scale(most, most**2, share=share, noise=noise)
    return DistinctProbe(item, query, scale, most)


def _rank_probe(draft: QueryDraft, item: Aggregate, share: Fraction, noise: Noise) -> RankProbe:
    rows = draft.leaf.rows
    block = bernstein_block("q", item, degree=1, has_rest=False)
    if block.steps > CANDIDATES and item.argument is not None:
        coarse = replace(item, argument=replace(item.argument, step=None))
        block = bernstein_block("q", coarse, degree=1, has_rest=False, finest=CANDIDATES)
    place = TypedExpression(step_index(block), Kind.INTEGER)
    limit = draft.limit
    if limit.method == "truncate":
        # What a person adds is bounded by scaling, whichever groups and values it falls on.
        limit = replace(limit, method="rescale", squared=limit.rows**2, groups=None)
    query = bounded_queries.main_query(rows, (*draft.leaf.keys, place), (row_count_block(),), limit)
    epsilon = share if noise == "laplace" else _below_root(2 * share)
    rank = ceil(2 * limit.rows * log(max(block.steps, 2)) / float(epsilon))
    most = limit.rows * limit.change
    return RankProbe(
        item, query, block.low, block.step, block.steps + 1, most, limit.one, epsilon, rank
    )


def make_cut_probe(
    leaf: PrivateQuery, limit: Contribution, *, share: Fraction, noise: Noise
) -> CutProbe:
    """Return how a share of the price measures the rows of a leaf that its limits cut off."""
    # A protected child row moves its person from one bin to another.
    most = WHOLE * (2 if leaf.rows.has_children else 1)
    query = cut_query(leaf.rows, leaf.keys, limit)
    return CutProbe(query, limit, most, _noise_scale(most, most**2, share=share, noise=noise))


def cut_event(probe: CutProbe, noise: Noise) -> events.Event:
    """Return what measuring the rows that were cut off will have done."""
    return _noise_event(probe.sensitivity, probe.sensitivity**2, probe.scale, noise)


def _below_root(square: Fraction) -> Fraction:
    """Return a fraction whose square is at most `square`, and nearly so."""
    scale = 10**24
    return Fraction(isqrt(square.numerator * scale // square.denominator), isqrt(scale))
