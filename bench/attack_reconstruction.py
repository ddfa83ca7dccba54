"""Reconstruction: each person's bit from counts, against the linear programs of the literature.

`python -m bench.attack_reconstruction` prints CPU seconds and the share of bits that are right, for
1 000 to 5 000 people and four questions each; HiGHS solves its programs up to 1 000 people.
`python -m bench.attack_reconstruction small` stops at 1 000.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figures import FigureTable
from bench.reconstruction_programs import chebyshev_program, least_absolute_program
from discreet.attacks.reconstruction.equations import center_equations
from discreet.attacks.reconstruction.estimate import box_least_squares
from discreet.attacks.reconstruction.exhaustive import consistent_tables, every_group
from discreet.attacks.reconstruction.limit import expected_accuracy
from discreet.attacks.reconstruction.splitting import chebyshev, least_absolute

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = (500, 1_000, 2_000, 5_000)
MOST_BY_PROGRAM = 500
ALPHA = 0.25


def timed(act: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    done = act()
    return done, time.process_time() - start


def measure(
    people: int, name: str, solve: Callable[[], Any], bits: np.ndarray
) -> tuple[float, float]:
    estimate, seconds = timed(solve)
    share = float(np.mean((estimate > 0.5) == bits))
    print(f"{people:6,} people  {name:42} {share:.3f} right  {seconds:7.2f} s", flush=True)
    return share, seconds


def compare(people: int) -> list[tuple[float, float]]:
    """Return the share that is right and the seconds, of our estimators and of HiGHS for few people."""
    chance = np.random.default_rng(1)
    questions = 4 * people
    groups = chance.random((questions, people)) < 0.5
    bits = chance.random(people) < 0.5
    system = center_equations(groups)
    exact = (system.apply(bits.astype(float)) + bits.sum()) / 2
    noisy = exact + chance.normal(0, ALPHA * people**0.5, questions)
    flat = exact + chance.uniform(-0.5, 0.5, questions) * people**0.5
    wild = np.where(chance.random(questions) < 0.2, chance.integers(0, people, questions), exact)
    expected = expected_accuracy(people=people, questions=questions, noise=ALPHA * people**0.5)
    # Each estimator is timed with equations of its own, so that each forms its own products.
    ours = measure(
        people,
        f"least squares, Gaussian ({expected:.3f} expected)",
        lambda: box_least_squares(center_equations(groups), noisy),
        bits,
    )
    splits = [
        measure(people, name, lambda s=solve, a=answers: s(center_equations(groups), a), bits)
        for name, solve, answers in (
            ("least absolute errors, 20 % outliers", least_absolute, wild),
            ("Chebyshev, uniform noise", chebyshev, flat),
        )
    ]
    if people > MOST_BY_PROGRAM:
        return [ours, *splits]
    programs = [
        measure(people, name, lambda s=solve, a=answers: s(groups, a), bits)
        for name, solve, answers in (
            ("HiGHS, least absolute errors, 20 % outliers", least_absolute_program, wild),
            ("HiGHS, Chebyshev, uniform noise", chebyshev_program, flat),
        )
    ]
    return [ours, *splits, *programs]


def measure_estimators() -> FigureTable:
    """Return the share of bits that each estimator gets right, by the noise in the answers."""
    people = 500
    chance = np.random.default_rng(1)
    questions, root = 4 * people, people**0.5
    groups = chance.random((questions, people)) < 0.5
    bits = chance.random(people) < 0.5
    exact = groups @ bits.astype(float)
    arbitrary = chance.integers(0, people, questions)
    answers = {
        "Gaussian, sd 0.25 √n": exact + chance.normal(0, ALPHA * root, questions),
        "uniform, up to 0.5 √n": exact + chance.uniform(-0.5, 0.5, questions) * root,
        "Laplace, scale 0.25 √n": exact + chance.laplace(0, ALPHA * root, questions),
        "a fifth of the answers arbitrary": np.where(
            chance.random(questions) < 0.2, arbitrary, exact
        ),
        "rounded to 10": np.round(exact / 10) * 10,
        "rounded to 50": np.round(exact / 50) * 50,
    }
    solvers = (box_least_squares, chebyshev, least_absolute)
    rows: list[tuple[str, ...]] = []
    for noise, given in answers.items():
        shares = [
            np.mean((solve(center_equations(groups), given) > 0.5) == bits) for solve in solvers
        ]
        rows.append((noise, *(f"{share:.2f}" for share in shares)))
    return FigureTable(
        ("noise", "least squares", "Chebyshev", "least absolute errors"), tuple(rows)
    )


def measure_times() -> FigureTable:
    """Return the CPU seconds of each estimator, and of HiGHS for few people."""
    rows: list[tuple[str, ...]] = []
    for people in PEOPLE:
        took = compare(people)
        cells = [f"{seconds:.2f} s, {share:.3f} right" for share, seconds in took[:3]]
        for place, (_, seconds) in enumerate(took[3:], start=1):
            ratio = seconds / took[place][1]
            cells[place] += f" (HiGHS {seconds:.1f} s, ratio {ratio:.0f})"
        rows.append((f"{people:,}", *cells))
    columns = ("people", "least squares, Gaussian noise", "least absolute errors, 20 % outliers")
    return FigureTable((*columns, "Chebyshev, uniform noise"), tuple(rows))


def main() -> None:
    groups = every_group(16)
    bits = np.random.default_rng(2).random(16) < 0.5
    answers = groups @ bits.astype(float)
    found, seconds = timed(lambda: consistent_tables(groups, answers, error=1))
    print(f"    16 people  every table, error 1: {len(found)} survive      {seconds:7.2f} s")
    for people in PEOPLE if "small" not in sys.argv else PEOPLE[:2]:
        compare(people)


if __name__ == "__main__":
    main()
