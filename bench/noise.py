"""Noise: discreet's exact samplers against OpenDP's, and against floats that protect nobody.

`python -m bench.noise` prints CPU seconds and ratios.
"""

from __future__ import annotations

import time
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from bench.figures import FigureTable
from discreet.dp import noise
from discreet.dp.noise import SystemNoise, sample_gaussian, sample_laplace

if TYPE_CHECKING:
    from collections.abc import Callable

SCALE = Fraction(3.3)
COUNTS = (1, 10, 100, 1_000, 10_000)
MANY = 1_000_000


def measure(act: Callable[[], object], *, repeats: int) -> float:
    """Return the CPU seconds of the quickest of some runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        act()
        best = min(best, time.process_time() - start)
    return best


def draw(kind: Callable[[Fraction, int], object], count: int, *, by_opendp: bool) -> float:
    kept = noise.OPENDP_UP_TO
    noise.OPENDP_UP_TO = count if by_opendp else 0
    try:
        return measure(lambda: kind(SCALE, count), repeats=20 if count <= 1000 else 3)
    finally:
        noise.OPENDP_UP_TO = kept


def measure_laplace() -> FigureTable:
    """Return the CPU time of discrete Laplace noise, ours and OpenDP's."""
    for by_opendp in (True, False):
        draw(sample_laplace, 1, by_opendp=by_opendp)  # imports and caches
    rows: list[tuple[str, ...]] = []
    for count in (*COUNTS[1:], MANY):
        ours, theirs = (draw(sample_laplace, count, by_opendp=who) for who in (False, True))
        rows.append((f"{count:,}", _milliseconds(ours), _milliseconds(theirs)))
    return FigureTable(("values", "discreet", "OpenDP"), tuple(rows))


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.01 else f"{seconds * 1e3:,.0f} ms"


def main() -> None:
    for kind in (sample_laplace, sample_gaussian):
        for by_opendp in (True, False):
            draw(kind, 1, by_opendp=by_opendp)  # imports and caches
        for count in COUNTS:
            theirs, ours = (draw(kind, count, by_opendp=who) for who in (True, False))
            print(
                f"{kind.__name__:9}{count:10,} values: exact {ours * 1e3:9.2f} ms,"
                f" OpenDP {theirs * 1e3:9.2f} ms, ratio {theirs / ours:6.2f}"
            )
        seconds = draw(kind, MANY, by_opendp=False)
        print(f"{kind.__name__:9}{MANY:10,} values: exact {seconds * 1e3:9.2f} ms")
    floats = measure(lambda: np.random.default_rng().laplace(3.3, size=MANY), repeats=3)
    print(f"floats   {MANY:10,} values: {floats * 1e3:9.2f} ms, and not private")
    for candidates in (100, 10_000, 1_000_000):
        scores = -np.abs(np.arange(candidates) - candidates // 2)
        seconds = measure(
            lambda scores=scores: SystemNoise().choose(
                scores, epsilon=Fraction(1), sensitivity=Fraction(1)
            ),
            repeats=3,
        )
        print(f"choice of{candidates:10,} candidates: {seconds * 1e3:9.2f} ms")


if __name__ == "__main__":
    main()
