"""The linear programs of the literature, for few people: the estimators above reach the same sooner."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Bug, WrongUsage

MOST_PEOPLE = 1000


def least_absolute_program(groups: NDArray[np.bool_], answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the bits between 0 and 1 with the least sum of absolute errors (HiGHS).

    >>> groups = np.array([[1, 0], [0, 1], [1, 1]], bool)
    >>> least_absolute_program(groups, np.array([1, 0, 1])).round(3).tolist()
    [1.0, 0.0]
    """
    questions = groups.shape[0]
    return _solve(groups, answers, costs=np.ones(questions), errors=np.eye(questions))


def chebyshev_program(groups: NDArray[np.bool_], answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the bits between 0 and 1 whose largest error is the least (HiGHS)."""
    return _solve(groups, answers, costs=np.ones(1), errors=np.ones((groups.shape[0], 1)))


def _solve(
    groups: NDArray[np.bool_],
    answers: NDArray[Any],
    *,
    costs: NDArray[np.float64],
    errors: NDArray[np.float64],
) -> NDArray[np.float64]:
    from scipy.optimize import linprog
    from scipy.sparse import bmat, csr_matrix

    people = groups.shape[1]
    if people > MOST_PEOPLE:
        raise WrongUsage(
            f"A linear program of {people} people takes too long: it is for {MOST_PEOPLE} at most. "
            "Take least squares, Chebyshev or least absolute errors, which need no program."
        )
    members, slack = csr_matrix(groups.astype(np.float64)), csr_matrix(errors)
    answered = np.asarray(answers, np.float64)
    found: Any = linprog(
        np.concatenate([np.zeros(people), costs]),
        A_ub=bmat([[members, -slack], [-members, -slack]], format="csr"),
        b_ub=np.concatenate([answered, -answered]),
        bounds=[(0, 1)] * people + [(0, None)] * costs.size,
        method="highs-ipm",
    )
    if found.x is None:
        raise Bug("A linear program without constraints on its slack has no solution.")
    solved: NDArray[np.float64] = found.x[:people]
    return solved
