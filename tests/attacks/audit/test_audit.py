"""Cheaters are caught, each for what it does, and honest mechanisms are not."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.audit import cheaters

from discreet.attacks.audit.audit import (
    SEEDED,
    Claim,
    audit_mechanism,
    audit_outputs,
    examine,
    with_sessions,
)
from discreet.attacks.audit.bound import epsilon_lower_bound
from discreet.attacks.audit.mechanism import (
    BUILTIN_MECHANISMS,
    make_builtin_mechanism,
    run_mechanism,
)
from discreet.attacks.audit.neighbors import (
    NeighborPair,
    neighboring_counts,
    neighboring_lists,
    neighboring_tables,
)
from discreet.attacks.audit.outputs import read_runs
from discreet.attacks.audit.read import read_outputs
from discreet.attacks.audit.reference import fresh_outputs, load_mechanism
from discreet.attacks.audit.views import is_reachable, lowest_bits
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules, laboratory
from discreet.engines.connect import open_table
from discreet.errors import UnknownColumn, WrongUsage

RUNS = 10_000
# A right mechanism is accused once in ten thousand audits: for noise that is seeded.
SURE = Claim(1, confidence=0.9999)
# For the noise of the system, which differs each time.
ALMOST_CERTAIN = 1 - 1e-9
ZERO_ONE = [NeighborPair("0 and 1", 0, 1)]


@pytest.fixture(autouse=True)
def same_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test draw the same, whatever ran before it."""
    monkeypatch.setattr(cheaters, "_CHANCE", np.random.default_rng(11))


def found_by(mechanism, pairs=ZERO_ONE, *, claim=SURE, runs=RUNS, scale=1.0):
    return audit_mechanism(mechanism, pairs, claim=claim, runs=runs, scale=scale)


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("mechanism", "view"),
    [
        (cheaters.naive_float, "low bits"),
        (cheaters.naive_float, "reachable"),
        (cheaters.half_sensitivity, "values"),
        (cheaters.whole_noise_on_reals, "fractions"),
        (cheaters.same_seed, SEEDED),
        (cheaters.rows_of_two_too_quiet, "directions"),
    ],
)
def test_a_cheater_is_caught_by(mechanism, view):
    found = found_by(mechanism)
    assert found.details["refuted"]
    assert found.details["tests"][view] > 1
    assert found.verdict.startswith("Refuted")


@pytest.mark.statistics
@pytest.mark.parametrize("mechanism", [cheaters.honest, cheaters.rows_of_two])
def test_an_honest_mechanism_is_not_accused(mechanism):
    found = found_by(mechanism)
    assert not found.details["refuted"]
    assert 0.5 < found.details["lower_bound"] <= 1
    assert (found.rate, found.verdict[:11]) == (0, "Not refuted")


@pytest.mark.statistics
@pytest.mark.parametrize("name", BUILTIN_MECHANISMS)
def test_discreets_own_mechanisms_pass(name):
    delta = Fraction(1, 100) if name == "gaussian" else Fraction(0)
    mechanism = make_builtin_mechanism(name, epsilon=Fraction(1), delta=delta)
    found = found_by(mechanism, claim=Claim(1, float(delta), ALMOST_CERTAIN), runs=40_000)
    assert not found.details["refuted"]
    assert found.details["lower_bound"] > 0.05  # it is a bound at all


@pytest.mark.statistics
def test_discreets_laplace_noise_passes_on_all_counts():
    claim = Claim(1, confidence=ALMOST_CERTAIN)
    found = found_by(
        make_builtin_mechanism("laplace", epsilon=Fraction(1)), neighboring_counts(), claim=claim
    )
    assert not found.details["refuted"]


@pytest.mark.statistics
def test_half_the_noise_is_caught_only_where_the_bound_exceeds_the_claim():
    """The bound is 1.74, with a standard deviation of 0.03."""
    quiet = make_builtin_mechanism("laplace", epsilon=Fraction(2))
    outputs = [quiet.many(value, RUNS) for value in (0, 1)]
    found = {
        epsilon: audit_outputs(*outputs, claim=Claim(epsilon, confidence=ALMOST_CERTAIN)).details
        for epsilon in (1.4, 2)
    }
    assert 1.5 < found[2]["lower_bound"] <= 2
    assert found[1.4]["refuted"]
    assert not found[2]["refuted"]


@pytest.mark.statistics
def test_more_runs_bring_the_bound_nearer():
    """Of 1, 0.85 after 2 000 runs, 0.955 after 20 000 and 0.985 after 200 000, with standard deviations
    of 0.05, 0.016 and 0.005: one of them is seven away with a chance below 1e-10."""
    exact = make_builtin_mechanism("laplace", epsilon=Fraction(1))
    bounds = [
        epsilon_lower_bound(*(exact.many(value, runs) for value in (0, 1)), alpha=0.05)
        for runs in (2_000, 20_000, 200_000)
    ]
    assert 0.5 < bounds[0] < 1.2
    assert 0.8 < bounds[1] < 1.07
    assert 0.95 < bounds[2] < 1.02


@pytest.mark.statistics
@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (cheaters.fails_on_gaps, "None"),
        (cheaters.unclamped_sum, "1e+308|2|9|inf|nan"),
    ],
)
def test_a_search_finds_the_rows_that_betray(mechanism, words):
    found = found_by(mechanism, neighboring_lists([0.2, 0.9, 0.5]), runs=1000, scale=None)
    assert found.details["refuted"]
    assert any(word in found.details["inputs"] for word in words.split("|"))


@pytest.mark.statistics
def test_a_search_finds_nothing_against_an_honest_count():
    found = found_by(
        cheaters.counts_rows, neighboring_lists([1, 2], edges=[None, math.nan]), runs=1000
    )
    assert not found.details["refuted"]


@pytest.mark.statistics
def test_noise_that_is_the_same_in_every_call_is_caught():
    assert found_by(cheaters.constant_noise, runs=1000).details["refuted"]


def test_noise_that_is_seeded_on_import_is_caught_by_new_processes(tmp_path, monkeypatch):
    (tmp_path / "seeding.py").write_text(
        "import random\nrandom.seed(4)\ndef count(x): return x + random.randrange(1000)\n"
        "def fresh(x): return x + random.SystemRandom().randrange(1000)\n",
        "utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert load_mechanism("seeding:count")(1) >= 1
    quiet = found_by(cheaters.honest, runs=500)
    for name, is_caught in (("count", True), ("fresh", False)):
        sessions = [fresh_outputs(f"seeding:{name}", 0) for _ in range(2)]
        assert with_sessions(quiet, sessions, claim=SURE).details["refuted"] is is_caught
    assert fresh_outputs("seeding:nothing", 0) is None


@pytest.mark.parametrize("reference", ["nothing", "math:", "no_such_module_here:f", "math:pie"])
def test_a_reference_to_nothing_is_refused(reference):
    with pytest.raises(WrongUsage):
        load_mechanism(reference)


def test_an_error_is_an_output_and_betrays():
    def refuses(value):
        if value:
            raise KeyError("Alice")
        return 0

    found = found_by(refuses, runs=500)
    assert found.details["tests"]["refusals"] > 1
    assert "Alice" not in str(found.to_dict())


def test_the_lowest_bit_of_a_float():
    values = np.array([1.0, 0.75, 3.0, 2.0**-60, 1 + 2.0**-52, 0.0, -0.5, np.inf])
    assert lowest_bits(values).tolist() == [0, -2, 0, -60, -52, 5000, -1, 5000]


@pytest.mark.parametrize("center", [0.0, 1.0, -3.5])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_naive_noise_reaches_its_own_floats_and_misses_others(center, scale):
    outputs = np.random.default_rng(6).laplace(center, scale, 2000)
    assert is_reachable(outputs, center=center, scale=scale).mean() > 0.999
    assert is_reachable(outputs, center=center + 1, scale=scale).mean() < 0.9


def test_outputs_of_all_kinds_are_read():
    texts = read_runs(["a", "b", None], ["a", "c", "d"])
    assert texts.first.tolist() == ["a", "b", "missing"]
    assert texts.refusals is not None
    assert read_runs([(1, 2), (3, 4)], [(5, 6)]).is_vector
    assert read_runs([Fraction(1, 2)], [2]).first.tolist() == [0.5]
    assert read_runs([True], [False]).is_numeric
    with pytest.raises(WrongUsage, match="no outputs"):
        read_runs([], [1])


def test_labels_betray_without_an_order():
    chance = np.random.default_rng(8)
    outputs = [
        chance.choice(["red", "green", "blue"], 4000, p=p)
        for p in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8])
    ]
    evidence = examine(outputs[0].tolist(), outputs[1].tolist(), claim=SURE)
    assert 1.5 < evidence.bounds["values"] < math.log(8)


def test_a_delta_forgives_what_is_as_rare():
    """One output in a hundred is proof, which a delta of 0.02 allows, and one of 0.001 does not."""
    first = np.repeat([0, 1], [9900, 100])
    second = np.zeros(10_000, int)
    np.random.default_rng(9).shuffle(first)
    assert not audit_outputs(first, second, claim=Claim(1, 0.02)).details["refuted"]
    assert audit_outputs(first, second, claim=Claim(1, 0.001)).details["refuted"]


def test_tables_lose_extreme_rows_and_gain_gaps():
    table = pa.table({"pay": [3, 9, None], "name": ["a", "b", "c"]})
    pairs = list(neighboring_tables(table))
    words = [pair.words for pair in pairs]
    assert "the table without its largest value of 'pay'" in words
    assert "the table and a row of gaps" in words
    largest = next(pair for pair in pairs if "largest" in pair.words)
    assert largest.second["pay"].to_pylist() == [3, None]
    assert len(list(neighboring_tables(table.slice(0, 0)))) == 1


def test_a_file_of_outputs_has_two_inputs():
    table = open_table(pa.table({"input": ["a", "b", "a"], "output": [1, 2, 3]}))
    assert read_outputs(table) == ([1, 3], [2])
    with pytest.raises(WrongUsage, match="3 different inputs"):
        read_outputs(open_table(pa.table({"input": [1, 2, 3], "output": [1, 2, 3]})))
    with pytest.raises(UnknownColumn, match="'input' and 'output'"):
        read_outputs(open_table(pa.table({"given": [1], "output": [1]})))


def test_an_audit_without_inputs_is_refused():
    with pytest.raises(WrongUsage, match="no pair"):
        found_by(cheaters.honest, [])


@pytest.mark.parametrize("wrong", [(-1, 0, 0.9), (1, 1, 0.9), (1, 0, 1), (math.nan, 0, 0.9)])
def test_a_claim_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(WrongUsage):
        Claim(*wrong)


def test_gaussian_noise_needs_a_delta():
    with pytest.raises(WrongUsage, match="--delta"):
        make_builtin_mechanism("gaussian", epsilon=Fraction(1))
    with pytest.raises(WrongUsage, match="laplace"):
        make_builtin_mechanism("laplac", epsilon=Fraction(1))


def test_a_mechanism_runs_as_often_as_asked():
    assert run_mechanism(lambda value: value, 7, runs=3) == [7, 7, 7]


@pytest.mark.statistics
def test_an_interface_asked_on_neighboring_tables_is_a_mechanism():
    """Noise of scale 1/4 for a claimed epsilon of 1; 400 questions to each of two tables."""
    people = pa.table({"age": [30, 40, 50]})
    tables = {"with": people, "without": people.slice(1)}
    chance = np.random.default_rng(12)
    rules = LaboratoryRules(noise=LaboratoryNoise("laplace", 0.25))
    interfaces = {
        name: laboratory(open_table(table), rules, chance=chance) for name, table in tables.items()
    }
    found = found_by(
        lambda name: interfaces[name].ask('SELECT count(*) FROM "Table"').number,
        [NeighborPair("the table without its first row", "with", "without")],
        runs=400,
    )
    assert found.details["refuted"]
