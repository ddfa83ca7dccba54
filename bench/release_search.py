"""The search alone, without reading and writing: its time, and its optimum against ARX's."""

from __future__ import annotations

import csv
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.release.anonymize.problem import Problem

DATA = Path("../shared/data")
A8 = (
    *("age", "education", "marital-status", "native-country"),
    *("race", "salary-class", "sex", "workclass"),
)
A8C = (*(name for name in A8 if name != "salary-class"), "occupation")
C7 = ("AGE", "GENDER", "INCOME", "MINRAMNT", "NGIFTALL", "STATE", "ZIP")
TABLES = {
    "A8": (DATA / "adult/adult.csv", A8, "occupation"),
    "A8c": (DATA / "adult/adult.csv", A8C, "salary-class"),
    "C7": (DATA / "cup/cup.csv", C7, "RAMNTALL"),
}
REPEATS = 5


def problem(table: str, criteria: str, suppress: float) -> Problem:
    """Return the search's input for criteria such as `k5+t0.2`."""
    from discreet.engines.connect import open_table
    from discreet.measure.classes import group_cells
    from discreet.measure.roles import bind_roles
    from discreet.policy import model
    from discreet.release.anonymize.read import read_problem
    from discreet.release.options import AnonymizeOptions, apply_options

    path, quasi, sensitive = TABLES[table]
    known: dict[str, model.Criterion] = {
        **{f"k{k}": model.KAnonymity(k) for k in (2, 5, 10, 25, 100)},
        **{f"l{n}": model.LDiversity(sensitive, n, "distinct") for n in (2, 3)},
        "le2": model.LDiversity(sensitive, 2, "entropy"),
        "t0.2": model.TCloseness(sensitive, 0.2),
    }
    options = AnonymizeOptions(
        quasi=quasi,
        sensitive=[sensitive],
        hierarchies=path.parent / "hierarchies",
        criteria=[known[name] for name in criteria.split("+")],
    )
    asked = apply_options(None, options, name=path.stem)
    bound = bind_roles(open_table(str(path), delimiter=";"), policy=asked)
    return read_problem(
        group_cells(bound.subject), bound, asked.criteria, suppress=suppress
    ).problem


def search_alone(
    table: str, criteria: str, suppress: float, method: str, *, repeats: int = REPEATS
) -> dict[str, Any]:
    """Return the times of a search: the first in this process, and the best of some."""
    from discreet.policy import model
    from discreet.release.anonymize.methods import solve_problem
    from discreet.release.anonymize.recoding import loss

    walls: list[float] = []
    cpus: list[float] = []
    score = math.nan
    for _ in range(repeats):
        given = problem(table, criteria, suppress)  # afresh: nothing is remembered between searches
        wall, cpu = time.perf_counter(), time.process_time()
        found = solve_problem(given, model.ReleasePolicy(method=method))  # type: ignore[arg-type]
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        score = loss(given, found)
    return {"first": cpus[0], "cpu": min(cpus), "wall": min(walls), "loss": score}


def golden_cases() -> dict[str, int]:
    """Return how many cases ARX was measured on, and in how many our optimum has its score."""
    from discreet.release.anonymize import metrics
    from discreet.release.anonymize.full_domain import search

    known = {
        "lossmean": metrics.loss,
        "lossgeo": metrics.geometric_loss,
        "entropy": metrics.entropy,
        "entropymono": metrics.monotone_entropy,
        "dm": metrics.discernibility,
        "aecs": metrics.class_size,
        "precision": metrics.precision,
        "height": metrics.height,
    }
    cases = same = 0
    for path in sorted((DATA / "golden_arx").glob("*.tsv")):
        for case in csv.DictReader(path.read_text("utf-8").splitlines()[1:], delimiter="\t"):
            given = problem("A8", case["model"], float(case["supp"]))
            found = search(given, metric=known[case["metric"]])
            cases += 1
            # ARX rounds the loss of each attribute to ten digits.
            same += math.isclose(found.notes["score"], float(case["score"]), rel_tol=1e-9)
    return {"cases": cases, "same": same}
