"""Every table of bits that could have given the answers, for few people and errors that have a bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage

MOST_PEOPLE = 20
# Survivors times questions that are compared at once: some 100 MB.
_AT_ONCE = 1 << 24
_FEW = 4096


def every_group(people: int) -> NDArray[np.bool_]:
    """Return all 2^people groups, a row each, in the order 0…00, 0…01, …, 1…11.

    >>> every_group(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    _require_few(people)
    return _unpack_tables(np.arange(1 << people, dtype=np.uint32), people)


def consistent_tables(
    groups: NDArray[np.bool_], answers: NDArray[Any], *, error: float
) -> NDArray[np.bool_]:
    """Return every table of bits, a row each, that is within `error` of all answers.

    The truth is among them when no answer errs by more. With all 2^n groups any two of them differ
    in at most 4 `error` people, so that each is a table that is right about all others (Dinur &
    Nissim 2003, theorem 2). That says nothing once 4 `error` is n or more.

    >>> answers = [0.5, 0.5, 1, 1, 0.5, 1.5, 1.5, 2.5]
    >>> consistent_tables(every_group(3), np.array(answers), error=0.5).astype(int).tolist()
    [[1, 1, 0]]
    """
    people = groups.shape[1]
    _require_few(people)
    masks = _group_masks(groups)
    # Large groups distinguish most tables, so that few are left for the others.
    order = np.argsort(-groups.sum(axis=1), kind="stable")
    tables = np.arange(1 << people, dtype=np.uint32)
    done = 0
    while done < order.size and tables.size:
        size = 1 if tables.size > _FEW else max(1, _AT_ONCE // tables.size)
        asked = order[done : done + size]
        counts = np.bitwise_count(tables[:, None] & masks[asked][None, :])
        # A hair more than the error: sums such as 0.1 + 0.2 are not exact.
        gaps = np.abs(counts - answers[asked][None, :].astype(np.float64))
        tables = tables[(gaps <= error + 1e-9).all(axis=1)]
        done += size
    return _unpack_tables(tables, people)


def most_central(tables: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the table that is nearest to all the others on average; it is one of them."""
    share = tables.mean(axis=0)
    distances = np.where(tables, 1 - share, share).sum(axis=1)
    return tables[int(np.argmin(distances))]


def wrong_at_most(error: float) -> float:
    """Return in how many people a consistent table can be wrong: 4 times the error of answers."""
    return 4 * error


def _unpack_tables(tables: NDArray[np.uint32], people: int) -> NDArray[np.bool_]:
    places = np.arange(people - 1, -1, -1, dtype=np.uint32)
    return ((tables[:, None] >> places[None, :]) & 1).astype(np.bool_)


def _group_masks(groups: NDArray[np.bool_]) -> NDArray[np.uint32]:
    places = np.arange(groups.shape[1] - 1, -1, -1, dtype=np.uint32)
    return (groups.astype(np.uint32) << places[None, :]).sum(axis=1, dtype=np.uint32)


def _require_few(people: int) -> None:
    if not 1 <= people <= MOST_PEOPLE:
        raise WrongUsage(
            f"Trying every table takes 2^n steps: it is for 1 to {MOST_PEOPLE} people, and here are "
            f"{people}. Take an estimate, which thousands of people are no trouble for."
        )
