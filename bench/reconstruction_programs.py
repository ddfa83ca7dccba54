"""The linear programs of the literature, for few people: a reference for the estimators of discreet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Bug


def least_absolute_program(groups: NDArray[np.bool_], answers: NDArray[Any]) -> NDArray[np.float64]:
    """Return the bits between 0 and 1 with the least sum of absolute errors (HiGHS)."""
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
