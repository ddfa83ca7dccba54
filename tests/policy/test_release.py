"""The block `release` of a policy: what it means, its faults, and that it is written back."""

from __future__ import annotations

from decimal import Decimal
from textwrap import dedent

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from discreet.errors import InvalidPolicy
from discreet.policy.json_schema import policy_schema
from discreet.policy.load import parse_policy
from discreet.policy.model import (
    STEPS,
    AddNoise,
    BottomCode,
    Clip,
    ColumnPolicy,
    ColumnRole,
    Microaggregate,
    Policy,
    Pram,
    RankSwap,
    ReleasePolicy,
    RoundNumbers,
    Step,
    SuppressCells,
    Swap,
    TablePolicy,
    TopCode,
)
from discreet.policy.schema import known_keys
from discreet.policy.write import dump_policy

HEAD = """\
tables:
  people:
    unit: person
    columns:
      age: quasi-identifier
      region: quasi-identifier
      sex: {role: quasi-identifier, values: [F, M]}
      born: {role: quasi-identifier, hierarchy: {calendar: [year]}}
      income: sensitive
      wealth: sensitive
    release:
"""

FULL = f"""{HEAD}\
      method: full-domain
      suppress: 5%
      utility: classification
      weights: {{age: 2, region: 0}}
      target: income
      steps:
        - clip: {{column: age, bounds: [10, 90]}}
        - top-code: {{column: income, at: 200000}}
        - bottom-code: {{column: age, at: 18.5}}
        - round: {{column: income, base: 100}}
        - microaggregate: {{columns: [income, wealth], k: 5, method: mdav}}
        - microaggregate: {{columns: [income], k: 3, method: univariate}}
        - pram: {{column: region, keep: 80%}}
        - swap: {{columns: [region], match: [age, sex], share: 0.05}}
        - rank-swap: {{column: income, window: 0.05}}
        - noise: {{column: income, scale: 0.1}}
        - suppress-cells: {{k: 3, columns: [age, sex], method: optimal}}
        - suppress-cells: {{k: 3}}
"""


def faults(lines: str) -> tuple[str, ...]:
    """Return the faults of a policy whose line 12 is the first of the block `release`."""
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(HEAD + "".join(f"      {line}\n" for line in dedent(lines).splitlines()))
    return caught.value.faults


def editor_faults(text: str) -> list[str]:
    found = Draft202012Validator(policy_schema()).iter_errors(yaml.safe_load(text))
    return [error.message for error in found]


def test_a_table_without_the_block_has_the_default_release() -> None:
    table = parse_policy("tables: {t: {columns: {a: identifier}}}").tables["t"]
    assert table.release == ReleasePolicy(
        method="local", suppress=0, utility="loss", weights={}, target=None, steps=()
    )


def test_every_part_of_the_block_is_read_with_its_line() -> None:
    release = parse_policy(FULL).tables["people"].release
    assert release == ReleasePolicy(
        method="full-domain",
        suppress=0.05,
        utility="classification",
        weights={"age": 2, "region": 0},
        target="income",
        steps=(
            Clip("age", (Decimal(10), Decimal(90))),
            TopCode("income", Decimal(200000)),
            BottomCode("age", Decimal("18.5")),
            RoundNumbers("income", Decimal(100)),
            Microaggregate(("income", "wealth"), 5),
            Microaggregate(("income",), 3, "univariate"),
            Pram("region", 0.8),
            Swap(("region",), 0.05, ("age", "sex")),
            RankSwap("income", 0.05),
            AddNoise("income", 0.1),
            SuppressCells(3, ("age", "sex"), "optimal"),
            SuppressCells(3),
        ),
    )
    assert release.line == 11
    assert [step.line for step in release.steps] == list(range(18, 30))


def test_the_editor_accepts_what_the_loader_reads() -> None:
    assert editor_faults(FULL) == []


@pytest.mark.parametrize(
    ("written", "share"), [("5%", 0.05), ("0.1 %", 0.001), ("0.25", 0.25), ("100%", 1), ("0", 0)]
)
def test_a_share_may_be_a_percentage(written: str, share: float) -> None:
    text = f"tables: {{t: {{columns: {{a: identifier}}, release: {{suppress: {written}}}}}}}"
    assert parse_policy(text).tables["t"].release.suppress == share
    assert editor_faults(text) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("methd: local", "unknown key 'methd'. Did you mean 'method'?"),
        ("method: mondrain", "'method' cannot be 'mondrain'. Did you mean 'mondrian'?"),
        ("suppress: 101%", "'suppress' must be at most 1, not '1.01'"),
        ("suppress: -1", "'suppress' must be at least 0, not '-1'"),
        ("suppress: 1.2.3%", "'suppress' must be a number, not '1.2.3%'"),
        ("suppress: few", "'suppress' must be a number, not 'few'"),
        ("utility: los", "'utility' cannot be 'los'. Did you mean 'loss'?"),
        ("weights: {age: -1}", "'age' must be at least 0, not '-1'"),
        ("weights: {age: inf}", "'age' must be a number, not 'inf'"),
        ("weights: {agee: 1}", "column 'agee' is not listed in table 'people'. Did you mean"),
        ("weights: {income: 1}", "column 'income' has the role 'sensitive', but only quasi"),
        ("weights: [age]", "'weights' must hold keys and values, not a list"),
        ("target: incom", "column 'incom' is not listed in table 'people'. Did you mean 'income'?"),
        ("steps: 5", "'steps' must be a list in [ ], not '5'"),
    ],
)
def test_a_fault_of_the_block_is_reported_with_its_line(line: str, fault: str) -> None:
    (found,) = faults(line)
    assert found.startswith("policy:12: release: ")
    assert fault in found


def test_classification_needs_a_target() -> None:
    (found,) = faults("utility: classification")
    assert found == (
        "policy:11: release: utility 'classification' needs 'target', the column to predict."
    )


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("clipp: {column: age, bounds: [1, 2]}", "unknown step 'clipp'. Did you mean 'clip'?"),
        ("clip", "write the step with its parameters"),
        ("{}", "each item holds one step"),
        ("clip: {column: age}", "the key 'bounds' is missing"),
        ("clip: {column: age, bounds: [2, 1]}", "lower bound 2 is above upper bound 1"),
        ("clip: {column: age, bounds: [2]}", "'bounds' needs two numbers"),
        ("clip: {column: age, bounds: [2, x]}", "'bounds' must be a number, not 'x'"),
        ("clip: {column: agee, bounds: [1, 2]}", "column 'agee' is not listed in table 'people'."),
        ("clip: {column: sex, bounds: [1, 2]}", "column 'sex' has values that are no numbers"),
        ("clip: {column: born, bounds: [1, 2]}", "column 'born' has dates, but the step needs"),
        (
            "clip: {column: person, bounds: [1, 2]}",
            "column 'person' identifies the person of a row.",
        ),
        ("top-code: {column: age, at: old}", "'at' must be a number, not 'old'"),
        ("round: {column: age, base: 0}", "'base' must be more than 0"),
        ("microaggregate: {columns: [age], k: 1}", "'k' must be at least 2"),
        ("microaggregate: {columns: [], k: 3}", "'columns' must not be empty"),
        ("microaggregate: {columns: [age, age], k: 3}", "column 'age' is listed twice"),
        ("microaggregate: {columns: [age, sex], k: 3}", "column 'sex' has values that are no"),
        ("microaggregate: {columns: [age], k: 3, method: mdv}", "Did you mean 'mdav'?"),
        (
            "microaggregate: {columns: [age, income], k: 3, method: univariate}",
            "method 'univariate' groups by one column",
        ),
        ("pram: {column: sex, keep: 0}", "'keep' must be more than 0"),
        ("pram: {column: sex, keep: 1.5}", "'keep' must be at most 1"),
        ("swap: {columns: [age], match: [age], share: 0.1}", "both swapped and matched"),
        ("swap: {columns: [age], match: [sx], share: 0.1}", "column 'sx' is not listed"),
        ("swap: {columns: [age]}", "the key 'share' is missing"),
        ("rank-swap: {column: age, window: 0}", "'window' must be more than 0"),
        ("noise: {column: age, scale: nan}", "'scale' must be a number, not 'nan'"),
        ("noise: {column: age, scale: 1, seed: 4}", "unknown key 'seed'"),
        ("suppress-cells: {k: 1}", "'k' must be at least 2"),
    ],
)
def test_a_fault_of_a_step_is_reported_with_its_line(step: str, fault: str) -> None:
    (found,) = faults(f"steps:\n  - round: {{column: age, base: 5}}\n  - {step}\n")
    assert found.startswith("policy:14: step ")
    assert fault in found


def test_faults_of_several_parts_are_reported_together() -> None:
    found = faults("weights: {agee: x}\nsteps:\n  - noise: {column: incme, scale: -1}\n")
    assert len(found) == 4


def test_the_schema_knows_the_steps_of_the_model() -> None:
    assert known_keys(("tables", "t", "release", "steps", 0)) == list(STEPS)


@pytest.mark.parametrize("name", STEPS)
def test_every_step_says_what_it_promises(name: str) -> None:
    assert STEPS[name].promise.endswith(".")


numbers = st.decimals(-(10**9), 10**9, places=4) | st.integers(-(10**9), 10**9).map(Decimal)
shares = st.floats(0, 1, exclude_min=True)
pairs = st.tuples(numbers, numbers).map(lambda found: (min(found), max(found)))
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(Clip, st.just("age"), pairs),
    st.builds(TopCode, st.just("age"), numbers),
    st.builds(BottomCode, st.just("age"), numbers),
    st.builds(RoundNumbers, st.just("NO"), numbers.filter(lambda base: base > 0)),
    st.builds(Microaggregate, st.just(("age", "NO")), st.integers(2, 99)),
    st.just(Microaggregate(("age",), 2, "univariate")),
    st.builds(Pram, st.just("NO"), shares),
    st.builds(Swap, st.just(("age",)), shares, st.sampled_from([(), ("NO",)])),
    st.builds(RankSwap, st.just("age"), shares),
    st.builds(AddNoise, st.just("age"), st.floats(0, 1e9, exclude_min=True)),
    st.sampled_from([SuppressCells(2), SuppressCells(5, ("NO",), "optimal")]),
)
releases = st.builds(
    ReleasePolicy,
    method=st.sampled_from(["local", "full-domain", "mondrian", "relaxed-mondrian", "cells"]),
    suppress=st.floats(0, 1),
    utility=st.sampled_from(["loss", "entropy", "height"]),
    weights=st.dictionaries(st.sampled_from(["age", "NO"]), st.floats(0, 1e9)),
    target=st.sampled_from([None, "NO", "age"]),
    publish_weight=st.booleans(),
    steps=st.lists(steps, max_size=3).map(tuple),
)


@given(releases)
def test_a_release_is_read_back_as_it_was_written(release: ReleasePolicy) -> None:
    columns = tuple(ColumnPolicy(name, ColumnRole.QUASI_IDENTIFIER) for name in ("age", "NO"))
    columns += (ColumnPolicy("w", ColumnRole.WEIGHT),)
    policy = Policy({"t": TablePolicy("t", columns, release=release)})
    assert parse_policy(dump_policy(policy)) == policy


def test_a_default_release_is_not_written() -> None:
    policy = parse_policy("tables: {t: {columns: {a: identifier}, release: {method: local}}}")
    assert "release" not in dump_policy(policy)


@pytest.mark.parametrize(
    ("columns", "release", "fault"),
    [
        ("{a: weight, b: weight}", "{}", "column 'b' is a second weight besides 'a'"),
        ("{a: {role: weight, kind: text}}", "{}", "weights are positive numbers"),
        ("{a: {role: weight, bounds: [-1, 5]}}", "{}", "a weight with a negative bound"),
        ("{a: identifier}", "{publish-weight: true}", "no column has the role 'weight'"),
    ],
)
def test_a_fault_of_a_weight_is_reported(columns: str, release: str, fault: str) -> None:
    with pytest.raises(InvalidPolicy, match=fault):
        parse_policy(f"tables: {{t: {{columns: {columns}, release: {release}}}}}")


def test_a_weight_is_no_unit() -> None:
    with pytest.raises(InvalidPolicy, match="unit 'w' has the role 'weight'"):
        parse_policy("tables: {t: {unit: w, columns: {w: weight}}}")


def test_a_household_is_a_unit() -> None:
    policy = parse_policy("tables: {t: {unit: h, columns: {h: household}}}")
    assert policy.tables["t"].unit == "h"


def test_households_and_weights_are_published_only_when_the_weight_is_asked_for() -> None:
    columns = "columns: {h: household, w: weight, n: identifier, a: insensitive}"
    silent = parse_policy(f"tables: {{t: {{{columns}}}}}").tables["t"]
    asked = parse_policy(f"tables: {{t: {{{columns}, release: {{publish-weight: true}}}}}}")
    assert silent.unpublished == ("h", "w", "n")
    assert asked.tables["t"].unpublished == ("h", "n")
