"""People and classes joined through labels, against comparing every pair."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.locating import matching
from discreet.attacks.locating.label_matches import match_labels


def labels_of(rng, count: int, *, share_exact: float) -> tuple[list[str], np.ndarray, np.ndarray]:
    low = rng.integers(0, 40, count)
    high = np.where(rng.random(count) < share_exact, low, low + rng.integers(1, 12, count))
    hidden = rng.random(count) < 0.1
    texts = [f"[{a}, {b}]" if b > a else str(a) for a, b in zip(low, high, strict=True)]
    texts = ["*" if is_hidden else text for text, is_hidden in zip(texts, hidden, strict=True)]
    return texts, np.where(hidden, -1, low), np.where(hidden, 99, high)


@pytest.mark.parametrize("share_exact", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cells", [2**6, 2**24], ids=["small blocks", "one block"])
def test_pairs_are_those_whose_labels_all_hold_the_persons_values(share_exact, cells, monkeypatch):
    monkeypatch.setattr(matching, "_CELLS", cells)
    rng = np.random.default_rng(7)
    people = rng.integers(0, 40, (120, 3))
    agree, atoms, codes, held = np.ones((120, 50), np.bool_), [], [], []
    for j in range(3):
        texts, low, high = labels_of(rng, 50, share_exact=share_exact)
        distinct = sorted(set(texts))
        values = np.unique(people[:, j])
        held.append(match_labels(pa.array(values), pa.array(distinct)))
        atoms.append(held[-1].atoms[np.searchsorted(values, people[:, j])])
        codes.append(np.array([distinct.index(text) for text in texts]))
        agree &= (people[:, [j]] >= low) & (people[:, [j]] <= high)
    firsts, seconds = matching.match_people(np.stack(atoms, 1), np.stack(codes, 1), held)
    found = list(zip(firsts.tolist(), seconds.tolist(), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == set(zip(*(side.tolist() for side in np.nonzero(agree)), strict=True))


def test_a_person_of_whom_a_value_is_missing_is_nowhere():
    held = match_labels(pa.array([1, 2]), pa.array(["*"]))
    firsts, _ = matching.match_people(np.array([[-1], [0]]), np.array([[0]]), [held])
    assert firsts.tolist() == [1]
