"""Sample and aggregate against the maximum-likelihood estimate: the error times the root of n, for growing n.

Run alone: `python -m bench.sample_and_aggregate`. The numbers are exponential with rate 1, the estimator is 1/mean, and the
public range is from 0 to 20. By Smith (2008, theorem 2.3) the private error tends to that of the maximum-likelihood
estimate, which is 1 over the root of n. Also draws `docs/figures/sample-and-aggregate.svg`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import vl_convert

from bench.figures import FOLDER, FigureTable
from discreet.learning.aggregation import AggregationRequest, correct_by_halves, release_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

PEOPLE = (400, 1_600, 6_400, 25_600, 102_400, 409_600)
EPSILONS = (Fraction(1), Fraction(4))
RUNS = 40
RANGE = (Fraction(0), Fraction(20))
CHART = FOLDER / "sample-and-aggregate.svg"


def _estimate_rate(block: NDArray[Any]) -> NDArray[Any]:
    return np.array([block.size / max(float(block.sum()), 1e-9)])


def _run(people: int, epsilon: Fraction) -> tuple[float, float, int, str]:
    """Return the errors of the maximum-likelihood and of the private estimate, and the blocks of the last run."""
    rate, exact, private, found = correct_by_halves(_estimate_rate), [], [], None
    for seed in range(RUNS):
        rows = np.random.default_rng(seed).exponential(1, people)
        request = AggregationRequest(
            "people", ("x",), "rate", "1", (RANGE,), None, None, True, epsilon, Fraction(0)
        )
        found = release_estimate(
            request,
            lambda a, b, rows=rows: rate([rows[np.concatenate([a, b])], rows[a], rows[b]]),
            np.arange(people),
        )
        exact.append(float(_estimate_rate(rows)[0]) - 1)
        private.append(found.values[0] - 1)
    assert found is not None
    return _root_mean_square(exact), _root_mean_square(private), found.blocks, found.aggregate


def _root_mean_square(errors: list[float]) -> float:
    return math.sqrt(float(np.mean(np.square(errors))))


def measure_convergence() -> FigureTable:
    """Return the errors times the root of n, and draw them."""
    rows, points = [], []
    for people in PEOPLE:
        row = [f"{people:,}"]
        for epsilon in EPSILONS:
            exact, private, blocks, aggregate = _run(people, epsilon)
            if epsilon == EPSILONS[0]:
                row.append(f"{exact * math.sqrt(people):.2f}")
                points.append({"n": people, "error": exact, "what": "maximum likelihood"})
            row.append(f"{private * math.sqrt(people):.2f} ({blocks:,} blocks, {aggregate})")
            points.append({"n": people, "error": private, "what": f"private, epsilon {epsilon}"})
        rows.append(tuple(row))
    _draw(points)
    heads = [f"private, epsilon {epsilon}" for epsilon in EPSILONS]
    return FigureTable(("n", "maximum likelihood", *heads), tuple(rows))


def _draw(points: list[dict[str, Any]]) -> None:
    """Draw the errors over n, both on logarithmic scales; 1 over the root of n is a straight line."""
    line = [{"n": people, "error": 1 / math.sqrt(people), "what": "1/√n"} for people in PEOPLE]
    base = alt.Chart(alt.Data(values=[*points, *line])).encode(
        x=alt.X("n:Q", scale=alt.Scale(type="log"), title="people"),
        y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="root mean square error"),
        color=alt.Color("what:N", title=None),
    )
    chart = alt.layer(base.mark_line(), base.mark_circle(size=50)).properties(width=460, height=280)
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    drawn = vl_convert.vegalite_to_svg(
        chart.to_dict(validate=False), vl_version=version, allowed_base_urls=[]
    )
    CHART.write_text(drawn + "\n", "utf-8")


if __name__ == "__main__":
    print(measure_convergence().to_markdown())
