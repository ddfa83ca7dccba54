"""What a plan measures, a leaf alone or the residuals of several: exact numbers first, then noise."""

from __future__ import annotations

from discreet.answer.marginals import ExactMarginals, MarginalsPlan, count_family, release_family
from discreet.answer.perturb import ExactResults, ReleasedTable, release_query, run_queries
from discreet.answer.plan import PrivateQueryPlan
from discreet.dp.noise import Noise
from discreet.engines.engine import Engine
from discreet.errors import Bug

Measurement = PrivateQueryPlan | MarginalsPlan
ExactNumbers = ExactResults | ExactMarginals


def run_measurement(plan: Measurement, engine: Engine) -> ExactNumbers:
    """Run all queries of a measurement. Nothing here is random, so that it can be stopped and run again."""
    if isinstance(plan, MarginalsPlan):
        return count_family(plan, engine)
    return run_queries(plan, engine)


def release_measurement(
    plan: Measurement,
    exact: ExactNumbers,
    *,
    noise: Noise,
    kind: str,
    consistent: bool,
) -> ReleasedTable:
    """Add noise to the exact numbers of a measurement, and return what may be released."""
    if isinstance(plan, MarginalsPlan) and isinstance(exact, ExactMarginals):
        return release_family(plan, exact, noise=noise)
    if isinstance(plan, PrivateQueryPlan) and isinstance(exact, ExactResults):
        return release_query(plan, exact, noise=noise, kind=kind, consistent=consistent)
    raise Bug("Exact numbers belong to another measurement.")
