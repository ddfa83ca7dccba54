"""How well scores separate members from others: ranks, hits at few false alarms, and intervals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.intervals import clopper_pearson

FALSE_ALARMS = (0.01, 0.05)


@dataclass(frozen=True)
class Hits:
    """How many members are found when so many others are taken for members."""

    found: int
    members: int
    alarms: int
    others: int

    @property
    def rate(self) -> float:
        """The share of members that are found."""
        return self.found / self.members if self.members else 0.0

    @property
    def false_rate(self) -> float:
        """The share of others that are taken for members."""
        return self.alarms / self.others if self.others else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of `rate`; everything is possible without members."""
        return clopper_pearson(self.found, self.members) if self.members else (0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return rates, their exact intervals, and the advantage with its lower bound."""
        high = clopper_pearson(self.alarms, self.others)[1] if self.others else 1.0
        return {
            "true_positive_rate": self.rate,
            "interval": self.interval,
            "false_positive_rate": self.false_rate,
            "advantage": self.rate - self.false_rate,
            "advantage_at_least": self.interval[0] - high,
        }


def area_under_curve(scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> float:
    """Return the chance that a member scores higher than a non-member; ties count half.

    >>> area_under_curve(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]))
    0.875
    """
    members, others = int(is_member.sum()), int((~is_member).sum())
    if not members or not others:
        return 0.5
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    total = float(ranks[where][is_member].sum())
    return (total - members * (members + 1) / 2) / (members * others)


def hits_at(scores: NDArray[np.float64], is_member: NDArray[np.bool_], false_alarms: float) -> Hits:
    """Return the hits above the lowest score that raises at most this share of false alarms."""
    others = np.sort(scores[~is_member])[::-1]
    allowed = int(false_alarms * len(others))
    threshold = others[allowed] if allowed < len(others) else -np.inf
    return hits_above(scores, is_member, float(threshold))


def hits_above(scores: NDArray[np.float64], is_member: NDArray[np.bool_], threshold: float) -> Hits:
    """Return the hits among scores above a threshold."""
    claims = scores > threshold
    members = int(is_member.sum())
    found = int((claims & is_member).sum())
    return Hits(found, members, int(claims.sum()) - found, len(scores) - members)


def evaluate_scores(scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the area under the curve, and hits at 1 % and 5 % false alarms."""
    found: dict[str, Any] = {"auc": area_under_curve(scores, is_member)}
    for rate in FALSE_ALARMS:
        found[f"at_{100 * rate:.0f}_percent"] = hits_at(scores, is_member, rate).to_dict()
    return found


def auc_interval(
    scores: NDArray[np.float64], is_member: NDArray[np.bool_], *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the area under the curve, by the variance of its ranks (DeLong et al. 1988).

    >>> scores, is_member = np.arange(20.0), np.arange(20) % 2 == 1
    >>> [round(end, 2) for end in auc_interval(scores, is_member)]
    [0.28, 0.82]
    """
    members, others = np.sort(scores[is_member]), np.sort(scores[~is_member])
    if len(members) < 2 or len(others) < 2:
        return 0.0, 1.0
    center = area_under_curve(scores, is_member)
    variance = sum(
        float(np.var(_share_below(one, other), ddof=1)) / len(one)
        for one, other in ((members, others), (others, members))
    )
    reach = NormalDist().inv_cdf((1 + confidence) / 2) * variance**0.5
    return max(0.0, center - reach), min(1.0, center + reach)


def best_threshold(scores: NDArray[np.float64], is_member: NDArray[np.bool_]) -> float:
    """Return the threshold whose claims differ most between members and others.

    It lies midway between two scores; infinite where no claim is better than all or none.

    >>> best_threshold(np.array([3.0, 2.0, 1.0, 0.0]), np.array([True, True, False, False]))
    1.5
    """
    order = np.argsort(-scores, kind="stable")
    ordered, truth = scores[order], is_member[order]
    gains = np.cumsum(np.where(truth, 1 / max(truth.sum(), 1), -1 / max((~truth).sum(), 1)))
    # Equal scores are claimed together: a threshold lies only where the next score is lower.
    ends = np.flatnonzero(np.diff(ordered, append=-np.inf) < 0)
    best = ends[np.argmax(gains[ends])]
    if gains[best] <= 0:
        return float("inf")
    return float("-inf") if best == len(ordered) - 1 else float(ordered[best : best + 2].mean())


def _share_below(
    scores: NDArray[np.float64], reference: NDArray[np.float64]
) -> NDArray[np.float64]:
    below = np.searchsorted(reference, scores, side="left")
    upto = np.searchsorted(reference, scores, side="right")
    return (below + upto) / (2 * len(reference))
