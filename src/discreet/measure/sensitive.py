"""Sensitive columns: their overall distribution, and what classes reveal of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from discreet.criteria.criterion import SensitiveCriterion
from discreet.criteria.histograms import Overall
from discreet.errors import InvalidCriterion, InvalidPolicy
from discreet.measure.assessment import (
    ClassView,
    Closeness,
    CriterionVerdict,
    Diversity,
    SensitiveColumn,
)
from discreet.measure.classes import Cells, histogram
from discreet.measure.describe import describe_classes
from discreet.measure.encode import ListedDomain, comparable_value, sensitive_value
from discreet.measure.evaluate import DEEPEST_RECURSION, ColumnMeasurements, evaluate_column
from discreet.measure.verdicts import column_verdict, people_failing
from discreet.policy import model
from discreet.policy.hierarchies.values import positions
from discreet.policy.hierarchy import codes as hierarchy_codes
from discreet.policy.hierarchy import require_covers
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding


@dataclass(frozen=True)
class Measured:
    """All sensitive columns, and the verdicts on criteria that name one of them."""

    columns: Mapping[str, SensitiveColumn]
    verdicts: Mapping[model.Criterion, CriterionVerdict]


def measure_sensitive(
    cells: Cells, bound: RoleBinding, *, progress: Callable[[str, int, int], None]
) -> Measured:
    """Return levels, worst classes and verdicts of every sensitive column."""
    columns: dict[str, SensitiveColumn] = {}
    verdicts: dict[model.Criterion, CriterionVerdict] = {}
    criteria = bound.policy.criteria if bound.policy else ()
    names = [column.name for column in bound.subject.sensitive]
    if names:
        progress("sensitive columns", 0, len(names))
    overalls = [overall_of(cells, bound, index) for index in range(len(names))]
    for criterion in criteria:
        require_defined(criterion, dict(zip(names, overalls, strict=True)))
    for index, name in enumerate(names):
        mine = [c for c in criteria if isinstance(c, SensitiveCriterion) and c.column == name]
        found = evaluate_column(
            histogram(cells, index),
            overalls[index],
            mine,
            remembers_failing=bound.subject.unit is not None,
        )
        if found.tallies["distinct"].worst is not None:  # else every row is suppressed
            share = _modal_share(cells, cells.sensitive[index], overalls[index])
            columns[name] = _summarize_column(
                cells, cells.sensitive[index], found, modal_share=share
            )
        verdicts |= {
            failures.criterion: column_verdict(cells, failures, found)
            for failures in found.failures
        }
        progress("sensitive columns", index + 1, len(names))
    return Measured(columns, verdicts)


def require_defined(criterion: model.Criterion, overalls: Mapping[str, Overall]) -> None:
    """Refuse a criterion about a column that is not sensitive, or by a distance it does not have."""
    if not isinstance(criterion, SensitiveCriterion):
        return
    column = criterion.column
    if column not in overalls:
        raise InvalidCriterion(
            f"A criterion is about '{column}', which is not among the sensitive columns here. "
            "Add it with --sensitive or give it the role sensitive."
        )
    overall = overalls[column]
    for key, word in criterion.parameters().items():
        start = f"{criterion.name} with the {word} {key}"
        need = criterion.needs.get(word) if isinstance(word, str) else None
        if need == "order" and overall.ranks is None:
            raise InvalidCriterion(
                f"{start}: the values of '{column}' have no order. List them in order under "
                f"`values:` in the policy, or use another {key}."
            )
        if need == "hierarchy" and overall.levels is None:
            raise InvalidCriterion(
                f"{start}: '{column}' has no hierarchy. Add `hierarchy:` to its policy, or use "
                f"another {key}."
            )


def overall_of(cells: Cells, bound: RoleBinding, index: int) -> Overall:
    """Return the whole table's distribution of the sensitive column at `index`."""
    domain = cells.sensitive[index]
    column = bound.policy.column(domain.column.name) if bound.policy else None
    counts = _people_per_value(cells, domain)
    return Overall(
        shares=counts / max(int(counts.sum()), 1),
        ranks=_natural_ranks(cells, domain, column),
        levels=_hierarchy_levels(cells, domain, column),
        missing=domain.cardinality - 1 if domain.has_missing else None,
    )


def _modal_share(cells: Cells, domain: ListedDomain, overall: Overall) -> float:
    """Return the share of people with the most frequent value, among those with a known one."""
    subject = cells.subject
    if subject.unit is None:
        return float(overall.known.shares.max(initial=0.0))
    counts = _people_per_value(cells, domain)
    known = counts[:-1] if domain.has_missing else counts
    once = build.select(
        build.alias_as(comparable_value(subject.unit), "unit"), source=subject.table.relation.copy()
    )
    once = once.where(exp.Not(this=build.is_null(sensitive_value(domain.column)))).distinct()
    number = build.alias_as(build.count_star(), "people")
    found = subject.table.engine.run(build.select(number, source=build.subquery(once, "once")))
    return int(known.max(initial=0)) / max(int(found["people"][0].as_py()), 1)


def _people_per_value(cells: Cells, domain: ListedDomain) -> NDArray[np.int64]:
    """Return the number of people with each value in the whole table, suppressed rows included."""
    subject = cells.subject
    if subject.unit is None:
        return domain.counts(subject.table.engine)
    value = sensitive_value(domain.column)
    once = build.select(
        build.alias_as(value, "value"),
        build.alias_as(comparable_value(subject.unit), "unit"),
        source=subject.table.relation.copy(),
    ).distinct()
    people = build.select(
        build.column("value"),
        build.alias_as(build.count_star(), "people"),
        source=build.subquery(once, "once"),
    ).group_by(build.column("value"))
    ordered = build.order_nulls_last(people, [build.column("value")])
    batches = subject.table.engine.stream(ordered)
    found = [batch.column(1).to_numpy(zero_copy_only=False) for batch in batches]
    # The order is that of the codes, missing last.
    return np.concatenate(found).astype(np.int64) if found else np.zeros(0, np.int64)


def _natural_ranks(
    cells: Cells, domain: ListedDomain, column: model.ColumnPolicy | None
) -> NDArray[np.int64] | None:
    """Return the place of each code in the natural order; a missing value comes last."""
    if column is not None and column.values is not None:
        return _ranks_in_policy(cells, domain, column.name, column.values)
    is_scale = domain.column.kind.is_ordered and (column is None or column.is_ordered)
    return np.arange(domain.cardinality) if is_scale else None


def _ranks_in_policy(
    cells: Cells, domain: ListedDomain, name: str, values: tuple[str, ...]
) -> NDArray[np.int64]:
    held = domain.all_values(cells.subject.table.engine)
    places = positions(held, pa.array(values, pa.string()))
    unlisted = int(np.count_nonzero(places < 0))
    if unlisted:
        fault = (
            f"column '{name}': {unlisted} of its {len(held)} distinct values are not listed under "
            "`values:`. Add them, or leave `values:` out."
        )
        raise InvalidPolicy([fault])
    # Listed values without people still lie between others, but the distance counts values of the
    # table (Li et al. 2007), so places are closed up.
    ranks = np.argsort(np.argsort(places, kind="stable"), kind="stable")
    return np.append(ranks, len(ranks)) if domain.has_missing else ranks


def _hierarchy_levels(
    cells: Cells, domain: ListedDomain, column: model.ColumnPolicy | None
) -> tuple[NDArray[np.int64], ...] | None:
    """Return the hierarchy's groups of each code below the top; a missing value stands alone."""
    if column is None or column.hierarchy is None:
        return None
    values = domain.all_values(cells.subject.table.engine)
    require_covers(column.hierarchy, values, column=column.name)
    below = hierarchy_codes(column.hierarchy, values)[:-1]
    if not domain.has_missing:
        return below
    return tuple(np.append(level, level.max(initial=-1) + 1) for level in below)


def _summarize_column(
    cells: Cells, domain: ListedDomain, found: ColumnMeasurements, *, modal_share: float
) -> SensitiveColumn:
    levels = {name: tally.level or 0.0 for name, tally in found.tallies.items()}
    return SensitiveColumn(
        values=domain.cardinality,
        missing=domain.missing_rows,
        modal_share=modal_share,
        homogeneous=people_failing(cells, found.homogeneous) if found.homogeneous else 0,
        l=Diversity(
            distinct=int(levels["distinct"]),
            probabilistic=levels["probabilistic"],
            entropy=levels["entropy"],
            recursive={l: levels[f"recursive_{l}"] for l in range(2, DEEPEST_RECURSION + 1)},
        ),
        t=Closeness(
            equal=levels["equal"],
            ordered=levels.get("ordered"),
            hierarchical=levels.get("hierarchical"),
        ),
        alpha=levels["confidence"],
        basic_beta=levels["basic_beta"],
        enhanced_beta=levels["enhanced_beta"],
        delta_disclosure=levels["delta_disclosure"],
        worst=_describe_worst_classes(cells, found),
    )


def _describe_worst_classes(
    cells: Cells, found: ColumnMeasurements
) -> dict[str, tuple[ClassView, ...]]:
    """Return the worst classes of each measure, decoded with one question per column."""
    named = {name: tally.worst for name, tally in found.tallies.items() if tally.worst}
    if not named:
        return {}
    views = describe_classes(
        cells,
        np.concatenate([worst.keys for worst in named.values()]),
        np.concatenate([worst.sizes for worst in named.values()]).tolist(),
        np.concatenate([worst.scores for worst in named.values()]).tolist(),
    )
    result: dict[str, tuple[ClassView, ...]] = {}
    start = 0
    for name, worst in named.items():
        result[name] = views[start : start + len(worst.sizes)]
        start += len(worst.sizes)
    return result
