"""The exponential mechanism: the chance of each candidate by its score."""

from __future__ import annotations

import math
from collections.abc import Mapping

from discreet.errors import InvalidMechanism


def choose_chances(scores: Mapping[str, float], *, scale: float) -> dict[str, float]:
    """Return the chance of each candidate: proportional to e^(score / scale), adding up to 1.

    Guarantee of the mechanism: 2 * sensitivity / scale, with the sensitivity of a score (McSherry &
    Talwar 2007, theorem 6).

    >>> found = choose_chances({"Gender": 0.5, "Age": 0.3}, scale=0.2)
    >>> round(found["Gender"], 4), round(found["Age"], 4)
    (0.7311, 0.2689)
    """
    if not scores or not math.isfinite(scale) or scale <= 0:
        raise InvalidMechanism("Give at least one candidate, and a scale above 0.")
    best = max(scores.values())  # so that the largest weight is 1 and none overflows
    weights = {name: math.exp((score - best) / scale) for name, score in scores.items()}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}
