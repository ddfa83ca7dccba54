"""The methods by the names a policy gives them."""

from __future__ import annotations

from discreet.errors import WrongUsage
from discreet.option_values import read_method_options
from discreet.policy.model import ReleasePolicy
from discreet.progress import Progress
from discreet.registry import METHODS
from discreet.release.anonymize.problem import Problem
from discreet.release.anonymize.reachability import overlapping_labels_error, require_reachable
from discreet.release.anonymize.recoding import Recoding


def solve_problem(
    problem: Problem,
    release: ReleasePolicy,
    *,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Recoding:
    """Return how `problem` is recoded by the method that `release` names.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria within the limit of suppression.
    """
    require_reachable(problem)
    spec = METHODS.get(release.method)
    if release.utility not in spec.utilities:
        raise WrongUsage(
            f"The utility {release.utility} is a goal of the method full-domain; the method "
            f"{release.method} keeps the {' or '.join(spec.utilities)} small. Choose --method "
            f"full-domain or --utility {spec.utilities[0]}."
        )
    if problem.judge.population and not spec.counts_population:
        raise overlapping_labels_error()
    try:
        options = read_method_options(spec, release.options)
    except ValueError as error:
        raise WrongUsage(str(error)) from None
    return spec.run(problem, release, seconds=seconds, progress=progress, **options)
