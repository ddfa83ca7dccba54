"""Life tables: events and censored rows by time and group, their survival curves, and repetitions of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.learning.statistics.intervals import FEWEST, REPLICATES
from discreet.learning.statistics.released import NoisySums
from discreet.release.synthesize.resolutions import project_on_simplex

Floats = NDArray[np.float64]
_SIGNAL = 4.0


@dataclass(frozen=True)
class LifeTable:
    """Noisy counts of times: axis 0 has times, axis 1 events and censored rows, axis 2 groups.

    Attributes:
        noisy: The counts.
        withdrawn: The share of censored rows of a bin that leave it before its events: 0 where a bin is one
            time, ½ where it is a range (the actuarial estimate).
    """

    noisy: NoisySums
    withdrawn: float

    @property
    def at_risk(self) -> Floats:
        """The noisy number of rows whose time is not before each bin, by group."""
        return count_at_risk(self.noisy.values)

    def find_ends(self) -> list[int]:
        """Return for each group how many bins its curve has: until the noise hides how many are at risk."""
        bins = len(self.noisy.values)
        error = self.noisy.error * np.sqrt(2 * (bins - np.arange(bins)))
        least = np.maximum(1.0, _SIGNAL * error)
        least[0] = max(FEWEST, least[0])
        enough = self.at_risk >= least[:, None]
        return [bins if one.all() else int(np.argmin(one)) for one in enough.T]

    def survive(self, tables: Floats) -> Floats:
        """Return the share that survives each bin; tables may have more axes in front.

        Without noise and with bins of one time it is the estimator of Kaplan & Meier (1958).
        """
        events, censored = tables[..., 0, :], tables[..., 1, :]
        risk = np.maximum(count_at_risk(tables) - self.withdrawn * censored, 1.0)
        falling = np.asarray(1 - np.clip(events / risk, -1.0, 1.0), np.float64)
        return np.multiply.accumulate(falling, axis=-2)

    def project_groups(self) -> Floats:
        """Return counts that are not negative, with the sum of each group."""
        made = np.zeros_like(self.noisy.values)
        for group in range(made.shape[2]):
            one = self.noisy.values[:, :, group]
            total = max(float(one.sum()), 1.0)
            made[:, :, group] = project_on_simplex(one.reshape(-1), total).reshape(one.shape)
        return made

    def repeat(self, chance: Generator, expected: Floats) -> Floats:
        """Return tables of repetitions: samples with the expected shares, and the same noise."""
        drawn = np.empty((REPLICATES, *expected.shape))
        for group in range(expected.shape[2]):
            one = expected[:, :, group].reshape(-1)
            size, shares = max(1, round(float(one.sum()))), one / one.sum()
            sample = chance.multinomial(size, shares, REPLICATES)
            drawn[..., group] = sample.reshape(REPLICATES, *expected.shape[:2])
        return drawn + self.noisy.draw_noise(chance, REPLICATES)

    def expect_alike(self) -> Floats:
        """Return the table that is expected if all groups have the same hazards, with the censoring of each."""
        held = self.project_groups()
        risk = count_at_risk(held)
        events, censored = held[:, 0, :], held[:, 1, :]
        hazard = events.sum(axis=1) / np.maximum(risk.sum(axis=1), 1e-9)
        leaving = np.clip(censored / np.maximum(risk - events, 1e-9), 0.0, 1.0)
        leaving[-1] = 1.0
        made = np.zeros_like(held)
        left = risk[0].copy()
        for place in range(len(held)):
            made[place, 0] = left * hazard[place]
            made[place, 1] = (left - made[place, 0]) * leaving[place]
            left = left - made[place].sum(axis=0)
        return made


def count_at_risk(tables: Floats) -> Floats:
    """Return how many rows have a time that is not before each bin, by group."""
    leaving = tables.sum(axis=-2)
    return np.cumsum(leaving[..., ::-1, :], axis=-2)[..., ::-1, :]


def log_rank(tables: Floats, *, bins: int, error: float) -> Floats:
    """Return the log-rank statistic of tables over their first bins (Mantel 1966; Peto & Peto 1972).

    The variance of the noise is added to that of chance, so that a table of noise has a small statistic.
    """
    held = tables[..., :bins, :, :]
    risk = np.maximum(count_at_risk(tables)[..., :bins, :], 0.0)
    events = held[..., 0, :]
    every, seen = np.maximum(risk.sum(axis=-1), 1e-9), events.sum(axis=-1)
    share = risk / every[..., None]
    apart = (events - share * seen[..., None]).sum(axis=-2)[..., :-1]
    spare = np.where(every > 1, (every - seen) / np.maximum(every - 1, 1e-9), 0.0)
    weight = np.clip(seen, 0.0, None) * np.clip(spare, 0.0, 1.0)
    groups = share.shape[-1] - 1
    first = share[..., :groups]
    crossed = -np.einsum("...t,...ti,...tj->...ij", weight, first, first)
    own = np.einsum("...t,...ti->...i", weight, first)
    places = np.arange(groups)
    crossed[..., places, places] += own + bins * error**2 + 1e-12
    solved = np.linalg.solve(crossed, apart[..., None])[..., 0]
    return (apart * solved).sum(axis=-1)
