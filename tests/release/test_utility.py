"""What a release lost: as ARX measures it, and as the definitions say."""

from __future__ import annotations

import csv
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.engines.postgres import PostgreSQL
from discreet.errors import UnknownColumn, WrongUsage
from discreet.measure.classes import group_cells
from discreet.measure.roles import bind_roles
from discreet.measure.utility.tasks import table_accuracy
from discreet.policy import model
from discreet.policy.hierarchies.lookup import read_lookup
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.release.anonymization import anonymize_source
from discreet.release.anonymize import recoding
from discreet.release.anonymize.methods import solve_problem
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.read import read_problem
from discreet.release.options import AnonymizeOptions
from discreet.release.utility import measure_utility

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.release import Release

# ARX lists nodes in the order of the table's columns.
COLUMNS = ("sex", "age", "race", "marital-status", "education")
COLUMNS = (*COLUMNS, "native-country", "workclass", "salary-class")
CRITERIA = {
    "k5": model.KAnonymity(5),
    "l2": model.LDiversity("occupation", 2, "distinct"),
    "le2": model.LDiversity("occupation", 2, "entropy"),
    "t0.2": model.TCloseness("occupation", 0.2),
}
METRICS = ("lossmean", "entropy", "entropymono", "dm", "aecs", "precision", "height")
CASES = [
    *(("golden_models", name, "0.05", "lossmean") for name in ("k5", "k5+le2", "k5+t0.2")),
    *(("golden_models", name, "1", "lossmean") for name in ("k5+l2", "k5+t0.2")),
    ("golden_models", "k5", "0", "lossmean"),
    *(("golden_metrics", "k5", "0.05", name) for name in METRICS),
]


@cache
def adult(folder: Path, criteria: tuple[model.Criterion, ...]) -> EncodedProblem:
    columns = tuple(
        model.ColumnPolicy(
            name,
            model.ColumnRole.QUASI_IDENTIFIER,
            hierarchy=read_lookup(next((folder / "hierarchies").glob(f"*hierarchy_{name}.csv"))),
        )
        for name in COLUMNS
    )
    occupation = model.ColumnPolicy("occupation", model.ColumnRole.SENSITIVE)
    policy = model.TablePolicy("adult", (*columns, occupation), criteria=criteria)
    bound = bind_roles(open_table(str(folder / "adult.csv"), delimiter=";"), policy=policy)
    return read_problem(group_cells(bound.subject), bound, criteria)


def golden(folder: Path, file: str, *case: str) -> dict[str, str]:
    lines = (folder / "golden_arx" / f"{file}.tsv").read_text("utf-8").splitlines()[1:]
    found = csv.DictReader(lines, delimiter="\t")
    return next(x for x in found if (x["model"], x["supp"], x["metric"]) == case)


@pytest.mark.parametrize(("file", "name", "share", "metric"), CASES)
def test_quality_is_that_of_arx(shared_data: Path, file: str, name: str, share: str, metric: str):
    case = golden(shared_data, file, name, share, metric)
    reading = adult(shared_data / "adult", tuple(CRITERIA[part] for part in name.split("+")))
    problem, node = reading.problem, json.loads(case["node"])
    labels, count = recoding.generalize(problem, node)
    held = problem.judge.holds(problem.table, labels, count)
    chosen = recoding.at_node(problem, node, ~held[labels])
    assert recoding.suppressed_rows(problem, chosen) == int(case["suppressed"])
    found = measure_utility(reading, chosen)
    assert found.granularity == pytest.approx(float(case["granularity"]), abs=6e-6)
    assert found.entropy == pytest.approx(float(case["nu_entropy"]), abs=6e-6)
    assert found.intensity == pytest.approx(float(case["genintensity"]), abs=6e-6)
    assert found.class_size.after == pytest.approx(float(case["AECS"]), abs=6e-3)
    assert found.discernibility.normalized == pytest.approx(float(case["DM"]), abs=6e-6)


PEOPLE = st.lists(
    st.tuples(
        st.integers(18, 40),
        st.sampled_from(["clerk", "boss", "farmer", "sailor", None]),
        st.sampled_from(["flu", "gout", "acne"]),
    ),
    min_size=4,
    max_size=40,
)
# No one is a miner: a reader of `*` cannot know that.
JOBS = build_taxonomy({"office": ["clerk", "boss"], "field": ["farmer", "sailor", "miner"]})


def read(rows: list[tuple], *, k: int = 2) -> EncodedProblem:
    names, types = ("age", "job", "ill"), (pa.int64(), pa.string(), pa.string())
    table = pa.table({n: pa.array([row[i] for row in rows], types[i]) for i, n in enumerate(names)})
    columns = (
        model.ColumnPolicy("age", model.ColumnRole.QUASI_IDENTIFIER),
        model.ColumnPolicy("job", model.ColumnRole.QUASI_IDENTIFIER, hierarchy=JOBS),
        model.ColumnPolicy("ill", model.ColumnRole.SENSITIVE),
    )
    criteria = (model.KAnonymity(k),)
    bound = bind_roles(
        open_table(table), policy=model.TablePolicy("people", columns, criteria=criteria)
    )
    return read_problem(group_cells(bound.subject), bound, criteria, suppress=0.3)


def none_kept(reading: EncodedProblem) -> recoding.Recoding:
    """Return the recoding that suppresses everything."""
    problem = reading.problem
    everything = np.ones(len(problem.table), dtype=np.bool_)
    return recoding.at_node(problem, problem.heights, everything)


@settings(max_examples=20, deadline=None)
@given(rows=PEOPLE)
def test_a_table_that_stays_as_it_is_loses_nothing(rows):
    reading = read(rows, k=1)
    chosen = recoding.tighten_labels(reading.problem, np.arange(len(reading.problem.table)))
    found = measure_utility(reading, chosen)
    lost = [found.gcp, found.granularity, found.entropy, found.intensity, found.marginal_distance]
    assert lost == [0, 0, pytest.approx(0, abs=1e-9), 0, pytest.approx(0, abs=1e-9)]
    assert found.pairwise.mean == pytest.approx(0, abs=1e-9)
    assert found.discernibility.before == found.discernibility.after
    assert found.class_size.before == found.class_size.after


@settings(max_examples=20, deadline=None)
@given(rows=PEOPLE)
def test_a_table_that_is_suppressed_loses_all(rows):
    reading = read(rows)
    found = measure_utility(reading, none_kept(reading))
    expected = [float(attribute.leaf < 1) for attribute in reading.problem.attributes]
    assert [column.loss for column in found.columns.values()] == expected
    assert found.discernibility.after == len(rows) ** 2
    assert found.entropy == pytest.approx(float(len({row[:2] for row in rows}) > 1))
    assert found.class_size.after == 0


@pytest.mark.parametrize("method", ["local", "full-domain", "mondrian", "cells"])
@settings(max_examples=8, deadline=None)
@given(rows=PEOPLE)
def test_every_measure_is_between_nothing_and_all(method, rows):
    reading = read(rows)
    found = measure_utility(reading, solve_problem(reading.problem, model.ReleasePolicy(method)))
    for column in found.columns.values():
        values = (column.loss, column.intensity, column.entropy, column.distance)
        assert all(-1e-9 <= value <= 1 + 1e-9 for value in values)
    assert 0 <= found.discernibility.normalized <= 1
    assert found.discernibility_without_penalty.after <= found.discernibility.after
    distances = [pair.distance for pair in found.pairwise.worst]
    assert distances == sorted(distances, reverse=True)
    assert found.pairwise.measured == found.pairwise.pairs == 3
    assert max(c.distance for c in found.columns.values()) <= max(distances) + 1e-9


def test_labels_are_spread_over_the_values_of_their_hierarchy():
    reading = read([(30, "farmer", "flu"), (30, "sailor", "flu")])
    chosen = recoding.tighten_labels(reading.problem, np.zeros(2, dtype=np.int64))
    # A third of the field is given to miners, of whom there are none.
    assert measure_utility(reading, chosen).columns["job"].distance == pytest.approx(1 / 3)


def test_a_missing_value_under_a_star_is_one_value_more():
    reading = read([(30, "farmer", "flu"), (30, None, "flu")])
    found = measure_utility(reading, none_kept(reading)).columns["job"]
    # Five jobs and none: a sixth of the rows for each, and half of them are given to two.
    assert found.distance == pytest.approx(4 / 6)


def test_ranges_are_spread_over_the_values_between_their_ends():
    rows = [(age, "boss", "flu") for age in (20, 20, 20, 21, 30, 30)]
    reading = read(rows)
    chosen = recoding.tighten_labels(reading.problem, np.array([0, 0, 1]))
    found = measure_utility(reading, chosen).columns["age"]
    assert found.distance == pytest.approx(1 / 6)


def people(count: int = 200) -> pa.Table:
    """Return people whose pay follows from their age, and whose luck follows from nothing."""
    ages = [20 + i % 40 for i in range(count)]
    return pa.table(
        {
            "age": ages,
            "sex": ["F" if i % 3 else "M" for i in range(count)],
            "pay": ["low" if age < 40 else "high" for age in ages],
            "luck": ["good" if i % 7 else "bad" for i in range(count)],
            "id": [f"p{i}" for i in range(count)],
        }
    )


def predict(table: pa.Table | Table, target: str, **options: Any) -> Release:
    wanted = AnonymizeOptions(
        quasi=options.pop("quasi", ["age", "sex"]),
        criteria=[model.KAnonymity(5)],
        target=target,
        **options,
    )
    return anonymize_source(table, options=wanted)


@pytest.mark.parametrize(
    "options",
    [{"sensitive": ["pay"]}, {}, {"unit": "id", "sensitive": ["pay"]}],
    ids=["sensitive", "neither", "of persons"],
)
def test_a_target_is_predicted_whatever_its_role(options: dict[str, Any]):
    found = predict(people(), "pay", **options).utility["classification"]
    assert (found["target"], found["rows"]) == ("pay", 200)
    assert found["majority"] == pytest.approx(0.5)
    assert found["before"] == 1
    assert found["after"] > 0.9


def test_what_cannot_be_known_is_guessed():
    found = predict(people(), "luck").utility["classification"]
    assert found["before"] == pytest.approx(found["majority"], abs=0.02)


def test_a_quasi_identifier_can_be_the_target():
    found = predict(people(), "pay", quasi=["age", "sex", "pay"]).utility["classification"]
    assert found["before"] == 1
    assert found["after"] > 0.9


def test_rows_that_are_read_again_are_predicted_as_well_as_reported(tmp_path: Path):
    import pyarrow.csv

    options = AnonymizeOptions(quasi=["age", "sex"], criteria=[model.KAnonymity(5)], target="pay")
    table = people(1000).drop_columns(["luck", "id"])
    found = anonymize_source(table, output=tmp_path / "out.csv", options=options)
    again = table_accuracy(pyarrow.csv.read_csv(tmp_path / "out.csv"), target="pay")
    assert found.utility["classification"]["after"] == pytest.approx(again, abs=0.02)


def test_a_target_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path):
    options = AnonymizeOptions(quasi=["age"], criteria=[model.KAnonymity(5)], target="pya")
    with pytest.raises(UnknownColumn, match="'pay'"):
        anonymize_source(people(), output=tmp_path / "out.csv", options=options)
    assert not list(tmp_path.iterdir())


def test_a_target_with_too_many_values_is_refused(tmp_path: Path):
    options = AnonymizeOptions(quasi=["age"], criteria=[model.KAnonymity(5)], target="id")
    with pytest.raises(WrongUsage, match="200 values"):
        anonymize_source(people(), output=tmp_path / "out.csv", options=options)
    assert not list(tmp_path.iterdir())


def test_a_table_that_was_suppressed_before_predicts_nothing():
    table = pa.table({"age": ["*"] * 3, "sex": ["*"] * 3, "pay": ["low", "high", "low"]})
    with pytest.raises(WrongUsage, match="suppressed already"):
        predict(table, "pay")
    result = anonymize_source(
        table, options=AnonymizeOptions(quasi=["age", "sex"], criteria=[model.KAnonymity(2)])
    )
    assert result.utility["gcp"] == 0


@pytest.mark.postgres
def test_a_server_reports_the_same_utility(postgres_url: str):
    rows = people(60).set_column(1, "sex", [[None, "F", "M"] * 20])
    server = PostgreSQL(postgres_url)
    relation = server.load(rows.to_reader())
    loaded = Table(server, relation, server.columns(relation), "people")
    assert predict(loaded, "luck").utility == predict(rows, "luck").utility
    server.close()


def test_the_only_quasi_identifier_cannot_be_predicted():
    with pytest.raises(WrongUsage, match="nothing to predict it from"):
        predict(people(), "sex", quasi=["sex"])
