"""Reconstruction: everybody's bit from counts, against the linear programs of the literature.

`python -m bench.attack_reconstruction` prints CPU seconds and the share of bits that are right, for
1 000 to 5 000 people and four questions each; HiGHS solves its programs up to 1 000 people.
`python -m bench.attack_reconstruction small` stops at 1 000.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attack.reconstruction.equations import equations
from discreet.attack.reconstruction.estimate import box_least_squares
from discreet.attack.reconstruction.exhaustive import consistent, every_group
from discreet.attack.reconstruction.limit import expected_accuracy
from discreet.attack.reconstruction.program import chebyshev_program, least_absolute_program
from discreet.attack.reconstruction.splitting import chebyshev, least_absolute

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = (500, 1_000, 2_000, 5_000)
MOST_BY_PROGRAM = 500
ALPHA = 0.25


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    done = act()
    return done, time.process_time() - start


def told(people: int, name: str, solve: Callable[[], Any], bits: np.ndarray) -> float:
    estimate, seconds = timed(solve)
    share = float(np.mean((estimate > 0.5) == bits))
    print(f"{people:6,} people  {name:42} {share:.3f} right  {seconds:7.2f} s", flush=True)
    return seconds


def compare(people: int) -> None:
    chance = np.random.default_rng(1)
    questions = 4 * people
    groups = chance.random((questions, people)) < 0.5
    bits = chance.random(people) < 0.5
    system = equations(groups)
    exact = (system.apply(bits.astype(float)) + bits.sum()) / 2
    noisy = exact + chance.normal(0, ALPHA * people**0.5, questions)
    flat = exact + chance.uniform(-0.5, 0.5, questions) * people**0.5
    wild = np.where(chance.random(questions) < 0.2, chance.integers(0, people, questions), exact)
    expected = expected_accuracy(people=people, questions=questions, noise=ALPHA * people**0.5)
    # Each estimator is timed with equations of its own, so that each forms its own products.
    ours = told(
        people,
        f"least squares, Gaussian ({expected:.3f} expected)",
        lambda: box_least_squares(equations(groups), noisy),
        bits,
    )
    splits = [
        told(people, name, lambda s=solve, a=answers: s(equations(groups), a), bits)
        for name, solve, answers in (
            ("least absolute errors, 20 % outliers", least_absolute, wild),
            ("Chebyshev, uniform noise", chebyshev, flat),
        )
    ]
    if people > MOST_BY_PROGRAM:
        return
    programs = [
        told(people, name, lambda s=solve, a=answers: s(groups, a), bits)
        for name, solve, answers in (
            ("HiGHS, least absolute errors, 20 % outliers", least_absolute_program, wild),
            ("HiGHS, Chebyshev, uniform noise", chebyshev_program, flat),
        )
    ]
    ratios = [theirs / mine for theirs, mine in zip(programs, splits, strict=True)]
    print(f"{people:6,} people  programs take {ratios[0]:.0f} and {ratios[1]:.0f} times as long")
    print(f"{people:6,} people  and {programs[0] / ours:.0f} times as long as least squares")


def main() -> None:
    groups = every_group(16)
    bits = np.random.default_rng(2).random(16) < 0.5
    answers = groups @ bits.astype(float)
    found, seconds = timed(lambda: consistent(groups, answers, error=1))
    print(f"    16 people  every table, error 1: {len(found)} survive      {seconds:7.2f} s")
    for people in PEOPLE if "small" not in sys.argv else PEOPLE[:2]:
        compare(people)


if __name__ == "__main__":
    main()
