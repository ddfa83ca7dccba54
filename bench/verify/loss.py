"""The exact privacy loss of one question between two neighboring databases, from the plan's own queries."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from discreet.answer import bounded_queries, perturb
from discreet.answer.blocks import ROWS
from discreet.answer.cut_rows import exact_bins
from discreet.answer.plan import make_plan
from discreet.answer.question import key_name
from discreet.answer.resolve import resolve_question
from discreet.answer.statement import parse_question
from discreet.answer.weighting import weigh_question
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.event import Choice, Gaussian, Laplace, Sequence
from discreet.engines.render import render_sql
from discreet.errors import DiscreetError, EngineFailed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from discreet.answer.catalog import Catalog
    from discreet.answer.curator import Curator
    from discreet.answer.plan import Noise, Plan, PrivateQueryPlan
    from discreet.dp.event import Event
    from discreet.engines.engine import ArrowTable, Engine

Cells = Counter[object]

EPSILON = Fraction(1)
DELTA = Fraction(1, 10**6)
CUT = Fraction(1, 10)  # of epsilon, that tells what limits cut off
_REFUSALS = ("QuestionRefused", "InvalidQuestion", "NoBounds", "UndeclaredKind", "UndeclaredUnit")


@dataclass(frozen=True)
class Side:
    """One of two neighboring databases: its tables, and the engine that they are on."""

    catalog: Catalog
    engine: Engine
    curator: Curator | None = None  # which says what else is shown before paying

    def close(self) -> None:
        """Release what was opened."""
        (self.curator or self.engine).close()


@dataclass(frozen=True)
class Verdict:
    """What the comparison of two neighbors gave; `loss` is the share of the price that was used up.

    `fault` says what tells the neighbors apart, or is None when nothing does.
    """

    fault: str | None
    loss: Fraction = Fraction(0)
    is_refused: bool = False


def compare(
    question: str,
    there: Side,
    gone: Side,
    *,
    noise: Noise | None = None,
    weighted: bool = False,
) -> Verdict:
    """Return whether the neighbors are told apart for free, or by more than what is paid."""
    with _same_order():
        plans = [_planned(question, side, noise, weighted=weighted) for side in (there, gone)]
    pairs = zip(plans, (there, gone), strict=True)
    shown = [_shown(plan, side, question) for plan, side in pairs]
    if shown[0] != shown[1]:
        return Verdict(f"before paying: {_difference(*shown)}")
    if isinstance(plans[0], str) or isinstance(plans[1], str):
        fault = None if shown[0].startswith(_REFUSALS) else f"planning failed: {shown[0]}"
        return Verdict(fault, is_refused=True)
    found = [
        _statistics(plan, side.engine) for plan, side in zip(plans, (there, gone), strict=True)
    ]
    failed = [item if isinstance(item, str) else None for item in found]
    if isinstance(found[0], str) or isinstance(found[1], str):
        # A value that makes a question fail is a fault even where both neighbors have it.
        return Verdict(f"failed after paying: {failed}")
    return _weighed(plans[0], found[0], found[1])


def attempt(question: str, side: Side, *, noise: Noise | None = "laplace") -> str | None:
    """Return how a question fails; None if it is answered, or refused before a row is read."""
    plan = _planned(question, side, noise)
    if isinstance(plan, str):
        return None if plan.startswith(_REFUSALS) else plan
    found = _statistics(plan, side.engine)
    return found if isinstance(found, str) else None


@contextmanager
def _same_order() -> Iterator[None]:
    """Let the orders of chance in two plans be the same, so that the plans can be compared."""
    before = bounded_queries.secrets
    bounded_queries.secrets = SimpleNamespace(token_hex=lambda _=0: "the same for both")  # pyright: ignore
    try:
        yield
    finally:
        bounded_queries.secrets = before


def _planned(
    question: str, side: Side, noise: Noise | None, *, weighted: bool = False
) -> Plan | str:
    try:
        if weighted:
            question = weigh_question(question, side.catalog, threading.Lock())
        asked = resolve_question(parse_question(question), side.catalog)
        return make_plan(asked, epsilon=EPSILON, delta=DELTA, noise=noise, cut_share=CUT)
    except DiscreetError as error:
        return f"{type(error).__name__}: {error}"


def _shown(plan: Plan | str, side: Side, question: str) -> str:
    """Return all that can be seen before paying."""
    if isinstance(plan, str):
        return plan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of examples before this one
        explained = _explained(plan, side, question)
    lines = [repr(plan.price), repr(plan.event), plan.noise, repr(plan.question.names)]
    for leaf in plan.private_queries:
        queries = [leaf.query, *(probe.query for probe in (*leaf.ranks, *leaf.distincts))]
        lines += [render_sql(q, dialect=side.engine.dialect) for q in queries if q is not None]
        lines += [repr(leaf.domain), repr(leaf.threshold), repr(leaf.limit)]
    lines += [*explained, *(str(warning.message) for warning in caught)]
    # What an engine calls a relation is drawn by chance, or counts what was opened before; and each of
    # two files is in a folder of its own.
    text = re.sub(r"discreet_[a-z]+_[0-9a-f]+", "relation", "\n".join(lines))
    return re.sub(r"/[^\s']*/(there|gone)/", "folder/", text)


def _explained(plan: Plan, side: Side, question: str) -> list[str]:
    """Return what a curator says of a plan: its explanation with cautions, and the answer's schema."""
    if side.curator is None:
        return []
    try:
        found = side.curator.explain_plan(plan, question)
        return [repr(found.to_dict()), str(side.curator.shape(plan))]
    except DiscreetError as error:
        return [f"{type(error).__name__}: {error}"]


def _difference(one: str, other: str) -> str:
    pairs = zip(one, other, strict=False)
    place = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return " | ".join(text[max(place - 60, 0) : place + 200] for text in (one, other))


def _statistics(plan: Plan, engine: Engine) -> list[dict[str, Cells]] | str:
    """Return every exact number of a plan that gets noise, or that it failed."""
    try:
        return [_sums(leaf, engine) for leaf in plan.private_queries]
    except EngineFailed as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 -- whatever fails is a finding
        return f"{type(error).__name__}: {error}"


def _sums(leaf: PrivateQueryPlan, engine: Engine) -> dict[str, Cells]:
    groups, sums = perturb._exact_sums(leaf, engine)
    named: list[object] = [()]
    keys = len(leaf.private_query.keys)
    if keys:
        # As labels are shown: a label that another person changes is told like any other.
        named = [repr(key) for key in zip(*(c.to_pylist() for c in groups.columns()), strict=True)]
    found = {name: _cells(named, vertices) for name, vertices in sums.items()}
    for index, probe in enumerate(leaf.distincts):
        found[f"distinct {index}"] = _counted(engine.run(probe.query), keys)
    for index, probe in enumerate(leaf.ranks):
        found[f"rank {index}"] = _counted(engine.run(probe.query), keys + 1)
    if leaf.cut is not None:
        bins = exact_bins(engine.run(leaf.cut.query), leaf.cut.bins)
        found["cut"] = Counter(dict(enumerate(map(int, bins))))
    return found


def _cells(named: list[object], vertices: list[Any]) -> Cells:
    cells: Cells = Counter()
    for index, vertex in enumerate(vertices):
        for group, value in zip(named, vertex, strict=True):
            cells[group, index] += int(value)
    return cells


def _counted(raw: ArrowTable, keys: int) -> Cells:
    names = [key_name(index) for index in range(keys)]
    cells: Cells = Counter()
    for row in raw.to_pylist():
        cells[repr([row[name] for name in names])] += int(row[ROWS] or 0)
    return cells


def _weighed(plan: Plan, there: list[dict[str, Cells]], gone: list[dict[str, Cells]]) -> Verdict:
    """Return the loss of all statistics together, as a share of what is paid for them."""
    noisy = sum(1 for event in _flat(plan.event) if isinstance(event, (Laplace, Gaussian, Choice)))
    if noisy != sum(map(len, there)):
        return Verdict(f"{noisy} events for {sum(map(len, there))} statistics")
    total = Fraction(0)
    for leaf, one, other in zip(plan.private_queries, there, gone, strict=True):
        gaps = {name: _gaps(one[name], other[name]) for name in one}
        total += sum(_losses(leaf, gaps, is_laplace=plan.noise == "laplace"), Fraction(0))
        fault = _beyond_threshold(leaf, one, other)
        if fault:
            return Verdict(fault)
    slips = sum(leaf.threshold is not None for leaf in plan.private_queries)
    paid = EPSILON
    if plan.noise == "gaussian":
        paid = rho_of_epsilon(EPSILON, delta=DELTA / (slips + 1))
    if total > paid:
        return Verdict(f"loss {float(total / paid):.3f} times what is paid", total / paid)
    return Verdict(None, total / paid)


def _flat(event: Event) -> Iterator[Event]:
    if isinstance(event, Sequence):
        for inner in event.events:
            yield from _flat(inner)
    else:
        yield event


def _gaps(one: Cells, other: Cells) -> list[int]:
    return [abs(one[cell] - other[cell]) for cell in {*one, *other}]


def _losses(
    leaf: PrivateQueryPlan, gaps: Mapping[str, list[int]], *, is_laplace: bool
) -> Iterator[Fraction]:
    """Yield the loss of each noisy statistic: epsilon of Laplace noise, rho of Gaussian noise."""
    scales = {item.block.name: item.scale for item in leaf.blocks}
    scales |= {f"distinct {index}": item.scale for index, item in enumerate(leaf.distincts)}
    if leaf.cut is not None:
        scales["cut"] = leaf.cut.scale
    for name, scale in scales.items():
        if is_laplace:
            yield sum(gaps[name]) / scale
        else:
            yield sum(gap * gap for gap in gaps[name]) / (2 * scale**2)
    for index, probe in enumerate(leaf.ranks):
        # Each score changes by at most the rows that come or go, each as often as it counts.
        most = probe.rows_per_unit * probe.one
        epsilon = probe.epsilon * Fraction(sum(gaps[f"rank {index}"]), most)
        yield epsilon if is_laplace else epsilon**2 / 2


def _beyond_threshold(
    leaf: PrivateQueryPlan, there: Mapping[str, Cells], gone: Mapping[str, Cells]
) -> str | None:
    """Return that somebody alone is more of a group, or in more groups, than the threshold allows."""
    if leaf.selector is None:
        return None
    one, other = there[leaf.selector], gone[leaf.selector]
    alone = [abs(one[cell] - other[cell]) for cell in {*one} ^ {*other}]
    groups = leaf.limit.groups or leaf.limit.rows
    per_group = (leaf.limit.per_group if leaf.selector == ROWS else 1) * leaf.limit.change
    if max(alone, default=0) > per_group or len(alone) > groups * leaf.limit.change:
        return f"a person alone counts {max(alone)} in {len(alone)} groups that nobody else is in"
    return None
