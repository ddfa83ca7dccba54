"""Which parts of a table a predicate can touch: questions about different parts are charged apart.

A table has parts by one column only, each value or each period of it being one. So a row lies in
exactly one part, and questions whose parts are disjoint share no row. The parts of a predicate
depend on its text alone, and are never too few: where the text proves nothing, they are all parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from discreet.answer.scales import Area, PeriodScale, Scale, Span, scale_of
from discreet.engines.engine import Kind
from discreet.policy.answer_model import Parts

MOST_CELLS = 10_000  # the ledger keeps a row for each
_DEEPEST = 50  # nested brackets; beyond them nothing is proved

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


def touched_cells(
    predicate: exp.Expr | None,
    partitions: Mapping[str, Parts],
    kinds: Mapping[str, Kind],
    *,
    alias: str | None,
) -> frozenset[str] | None:
    """Return the parts that rows passing `predicate` can lie in, or None for all of them.

    Args:
        predicate: What every row must pass before anything else is done with it.
        partitions: The column of the policy that makes parts. Of several, only the first does.
        kinds: What every column of the table holds, not only those that make parts.
        alias: How the question calls the table, None if it is the only one and has no other name.

    Guarantee: two predicates with disjoint results share no row, on every engine whose session is
    in UTC, so that events on them compose in parallel (McSherry 2009, theorem 4). This holds within
    one choice of `partitions`: parts by month and parts by quarter do overlap.

    >>> import sqlglot
    >>> from discreet.engines.engine import Kind
    >>> where = sqlglot.parse_one("admitted >= '2026-01-01' AND admitted < '2026-03-01'")
    >>> sorted(touched_cells(where, {"admitted": "month"}, {"admitted": Kind.DATE}, alias=None))
    ['admitted=2026-01', 'admitted=2026-02']
    """
    if predicate is None or not partitions:
        return None
    column, parts = next(iter(partitions.items()))
    scale = scale_of(parts, kinds.get(column))
    alike = [name for name in kinds if name.casefold() == column.casefold()]
    if scale is None or len(alike) != 1:
        return None
    area = _PredicateReader(column, alias, scale).area(predicate)
    return None if area is None else _name_cells(area, column=column, scale=scale)


def _union_areas(areas: Iterable[Area | None]) -> Area | None:
    found = list(areas)
    known = [area for area in found if area is not None]
    if len(known) < len(found):
        return None
    spans = tuple(span for area in known for span in area.spans)
    return Area(spans, frozenset(label for area in known for label in area.labels))


def _intersect_areas(left: Area | None, right: Area | None) -> Area | None:
    if left is None or right is None:
        return right if left is None else left
    return Area(_overlap_spans(left.spans, right.spans), left.labels & right.labels)


def _overlap_spans(left: Iterable[Span], right: Iterable[Span]) -> tuple[Span, ...]:
    """Return what lies in a span of both sides, in one pass over each."""
    ours, theirs = _merge_spans(left), _merge_spans(right)
    found: list[Span] = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        low, high = max(ours[i][0], theirs[j][0]), min(ours[i][1], theirs[j][1])
        if low <= high:
            found.append((low, high))
        if ours[i][1] < theirs[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the same numbers in spans that are in order and apart from each other."""
    found: list[Span] = []
    for low, high in sorted(span for span in spans if span[0] <= span[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return found


def _name_cells(area: Area, *, column: str, scale: Scale) -> frozenset[str] | None:
    """Return the names of the parts in `area`, None where they are too many."""
    spans = _merge_spans(area.spans)
    if sum((high - low + 1 for low, high in spans), len(area.labels)) > MOST_CELLS:
        return None
    numbers = [number for low, high in spans for number in range(int(low), int(high) + 1)]
    labels = map(scale.label, numbers) if isinstance(scale, PeriodScale) else map(str, numbers)
    return frozenset({f"{column}={label}" for label in labels}) | {
        f"{column}{label}" for label in area.labels
    }


_NULL = Area(labels=frozenset({" is null"}))


@dataclass(frozen=True)
class _PredicateReader:
    """Reads predicates about one column of one table."""

    column: str
    alias: str | None
    scale: Scale

    def area(self, node: exp.Expr, depth: int = 0) -> Area | None:
        """Return the parts in which `node` can be true."""
        node = node.unnest()
        if depth > _DEEPEST:
            return None
        if isinstance(node, exp.And | exp.Or):
            areas = (self.area(part, depth + 1) for part in node.flatten())
            return (
                reduce(_intersect_areas, areas)
                if isinstance(node, exp.And)
                else _union_areas(areas)
            )
        return self._atom_area(node)

    def _atom_area(self, node: exp.Expr) -> Area | None:
        if type(node) in _FLIPPED:
            return self._comparison_area(type(node), node.this, node.expression)
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = self._comparison_area(exp.GTE, node.this, node.args["low"])
            return _intersect_areas(
                low, self._comparison_area(exp.LTE, node.this, node.args["high"])
            )
        if isinstance(node, exp.In) and set(_given_arguments(node)) == {"this", "expressions"}:
            return _union_areas(
                self._comparison_area(exp.EQ, node.this, item) for item in node.expressions
            )
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return _NULL if self._is_ours(node.this) else None
        if self._is_ours(node):
            return self.scale.area(exp.EQ, exp.true())
        return None

    def _comparison_area(self, op: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> Area | None:
        left, right = left.unnest(), right.unnest()
        if not left.find(exp.Column):
            op, left, right = _FLIPPED[op], right, left
        if self._is_ours(left):
            return self.scale.area(op, right)
        inner = left.expression if isinstance(left, exp.Extract) else left.this
        if (
            isinstance(self.scale, PeriodScale)
            and isinstance(inner, exp.Expr)
            and self._is_ours(inner)
        ):
            return self.scale.function_area(op, left, right)
        return None

    def _is_ours(self, node: exp.Expr) -> bool:
        """Return whether `node` is the column that makes parts.

        Engines disagree on capitals. That matters only where another table could be meant: where
        the name is not qualified and there may be several tables.
        """
        if not isinstance(node, exp.Column) or node.args.get("db"):
            return False
        if node.table == (self.alias or ""):
            return node.name.casefold() == self.column.casefold()
        return not node.table and node.name == self.column


def _given_arguments(node: exp.Expr) -> list[str]:
    return [name for name, value in node.args.items() if value]
