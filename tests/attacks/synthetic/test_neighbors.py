"""The closest records are those of the definition, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.synthetic import neighbors
from discreet.attacks.synthetic.neighbors import find_nearest
from discreet.attacks.synthetic.trial import Feature, Records

FEATURES = (
    Feature("age", is_ordered=True, has_gaps=True, low=0.0, span=8.0),
    Feature("income", is_ordered=True, low=0.0, span=4.0),
    Feature("sex", is_ordered=False, has_gaps=True, _values=("f", "m")),
)
GAP = float("nan")
rows = st.lists(
    st.tuples(
        st.sampled_from([0.0, 1.0, 5.0, 8.0, GAP]),
        st.sampled_from([0.0, 1.0, 4.0]),
        st.sampled_from([0.0, 1.0, GAP]),
    ),
    min_size=1,
    max_size=12,
)


def gower(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    total = 0.0
    for feature, a, b in zip(FEATURES, one, other, strict=True):
        if np.isnan(a) or np.isnan(b):
            total += not (np.isnan(a) and np.isnan(b))
        else:
            total += abs(a - b) / feature.span if feature.is_ordered else a != b
    return total


@given(rows, rows, st.integers(1, 5), st.integers(1, 4))
def test_distances_are_gowers(queries, candidates, k: int, block: int):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors, "QUERIES_AT_ONCE", block)
        patch.setattr(neighbors, "CANDIDATES_AT_ONCE", block + 1)
        found = find_nearest(
            Records(np.array(queries).T), Records(np.array(candidates).T), FEATURES, k=k
        )
    for query, row, distances in zip(queries, found.rows, found.distances, strict=True):
        wanted = sorted(gower(query, candidate) for candidate in candidates)[: len(row)]
        assert distances == pytest.approx(wanted, abs=1e-6)
        assert [gower(query, candidates[i]) for i in row] == pytest.approx(wanted, abs=1e-6)
        assert len(set(row.tolist())) == len(row)
