"""What a policy says about answering: what it means, its faults, and that it is written back."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from discreet.errors import InvalidPolicy
from discreet.policy.answer_model import (
    BudgetPolicy,
    ContributionLimits,
    Parts,
    UnitPeriod,
    WorkloadPolicy,
)
from discreet.policy.hierarchies.calendar import PERIODS
from discreet.policy.json_schema import policy_schema
from discreet.policy.load import parse_policy
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy
from discreet.policy.schema import known_keys
from discreet.policy.write import dump_policy, policy_value

FULL = """\
budget: {epsilon: 10, delta: 1e-5}
tables:
  visits:
    unit: {column: patient, per: month, on: admitted}
    budget:
      epsilon: 3
      delta: 1e-6
      accounting: zcdp
      per: year
      analysts: {alice: {epsilon: 1}, "*": {epsilon: 0.5, delta: 1e-9, per: day}}
    limits: {rows-per-unit: 20, groups-per-unit: 5, rows-per-group: 4}
    partitions: {admitted: quarter}
    columns:
      patient: identifier
      admitted: quasi-identifier
      ward: {role: insensitive, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 10]}
  wards:
    public: true
    columns: {ward: insensitive}
workloads: {monthly: {queries: [SELECT count(*) FROM visits], epsilon: 1, delta: 1e-6}}
"""


def table(**blocks: str) -> str:
    """Return a policy whose first block is on line 8, one on each line."""
    head = """\
tables:
  t:
    columns:
      admitted: quasi-identifier
      ward: {role: insensitive, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 10]}
      person: identifier
"""
    return head + "".join(f"    {key}: {written}\n" for key, written in blocks.items())


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(text)
    return caught.value.faults


def editor_faults(text: str) -> list[str]:
    # To editors, which read YAML 1.2, `on` is a word; to PyYAML it is true.
    data = yaml.safe_load(text.replace(" on:", " 'on':"))
    found = Draft202012Validator(policy_schema()).iter_errors(data)
    return [error.message for error in found]


def test_a_table_without_a_word_about_answers_has_no_budget_and_no_limits() -> None:
    policy = parse_policy(table(unit="person"))
    found = policy.tables["t"]
    assert policy.budget is None
    assert found == TablePolicy("t", found.columns, unit="person")
    assert (found.public, found.budget, found.limits) == (False, None, ContributionLimits())
    assert (found.unit_period, found.partitions) == (None, {})


def test_every_key_is_read_with_its_line() -> None:
    policy = parse_policy(FULL)
    visits = policy.tables["visits"]
    assert policy.budget == BudgetPolicy(Decimal(10), Decimal("1e-5"))
    assert visits.unit == "patient"
    assert visits.unit_period == UnitPeriod("admitted", "month")
    assert visits.limits == ContributionLimits(20, 5, 4)
    assert visits.partitions == {"admitted": "quarter"}
    assert policy.tables["wards"].public
    assert visits.budget is not None
    assert (visits.budget.line, visits.limits.line) == (5, 11)


def test_settings_not_given_for_an_analyst_are_those_for_everyone() -> None:
    budget = parse_policy(FULL).tables["visits"].budget
    assert budget == BudgetPolicy(
        Decimal(3),
        Decimal("1e-6"),
        "zcdp",
        "year",
        {
            "alice": BudgetPolicy(Decimal(1), Decimal("1e-6"), "zcdp", "year"),
            "*": BudgetPolicy(Decimal("0.5"), Decimal("1e-9"), "zcdp", "day"),
        },
    )


def test_a_unit_may_be_written_long() -> None:
    assert parse_policy(table(unit="{column: person}")) == parse_policy(table(unit="person"))


def test_the_editor_accepts_what_the_loader_reads() -> None:
    assert editor_faults(FULL) == []
    assert editor_faults(table(unit="person", public="false")) == []


@pytest.mark.parametrize(
    ("key", "written", "fault"),
    [
        ("budget", "{epsilon: 0}", "budget: 'epsilon' must be more than 0"),
        ("budget", "{epsilon: -1}", "budget: 'epsilon' must be more than 0"),
        ("budget", "{epsilon: .inf}", "budget: 'epsilon' must be a number"),
        ("budget", "{epsilon: infinity}", "budget: 'epsilon' must be a number"),
        ("budget", "{epsilon: nan}", "budget: 'epsilon' must be a number"),
        ("budget", "{epsilon: much}", "budget: 'epsilon' must be a number, not 'much'"),
        ("budget", "{delta: 0.1}", "budget: the key 'epsilon' is missing"),
        ("budget", "{epsilon: 1, delta: 1}", "budget: 'delta' must be less than 1, not '1'"),
        ("budget", "{epsilon: 1, delta: -1}", "budget: 'delta' must be at least 0"),
        ("budget", "{epsilno: 1, epsilon: 1}", "unknown key 'epsilno'. Did you mean 'epsilon'?"),
        ("budget", "{epsilon: 1, accounting: zdcp}", "Did you mean 'zcdp'?"),
        ("budget", "{epsilon: 1, accounting: zcdp}", "accounting 'zcdp' needs a 'delta' above 0"),
        ("budget", "{epsilon: 1, per: week}", "budget: 'per' cannot be 'week'."),
        ("budget", "3", "budget: 'budget' must hold keys and values, not '3'"),
        (
            "budget",
            "{epsilon: 1, analysts: {al: {epsilon: 0}}}",
            "budget of analyst 'al': 'epsilon' must be more than 0",
        ),
        (
            "budget",
            "{epsilon: 1, analysts: {al: {epsilon: 1, analysts: {}}}}",
            "budget of analyst 'al': unknown key 'analysts'.",
        ),
        (
            "budget",
            "{epsilon: 1, analysts: {al: {epsilon: 1, accounting: zcdp}}}",
            "accounting 'zcdp' needs a 'delta' above 0. Give one to analyst 'al'.",
        ),
        (
            "budget",
            "{epsilon: 1, delta: 0.1, accounting: zcdp, analysts: {al: {epsilon: 1, delta: 0}}}",
            "Give one to analyst 'al'.",
        ),
        ("limits", "{rows-per-unit: 0}", "limits: 'rows-per-unit' must be at least 1, not '0'"),
        ("limits", "{rows-per-unit: 1.5}", "limits: 'rows-per-unit' must be a whole number"),
        (
            "limits",
            "{row-per-unit: 3}",
            "unknown key 'row-per-unit'. Did you mean 'rows-per-unit'?",
        ),
        ("public", "maybe", "'public' must be true or false, not 'maybe'"),
        ("unit", "{column: person, per: month}", "'per' and 'on' go together"),
        ("unit", "{column: person, on: admitted}", "'per' and 'on' go together"),
        ("unit", "{per: month, on: admitted}", "the key 'column' is missing"),
        ("unit", "{column: person, per: week, on: admitted}", "'per' cannot be 'week'."),
        ("unit", "{column: person, per: month, on: person}", "not the unit's own column"),
        ("unit", "{column: person, per: month, on: admited}", "Did you mean 'admitted'?"),
        ("unit", "{column: person, per: month, on: ward}", "column 'ward' has a list of values"),
        (
            "unit",
            "{column: person, per: month, on: cost}",
            "column 'cost' has numbers, but a period",
        ),
        ("partitions", "{wrad: value}", "column 'wrad' is not listed in table 't'. Did you mean"),
        ("partitions", "{ward: month}", "column 'ward' has a list of values, but a period needs"),
        ("partitions", "{admitted: week}", "'admitted' cannot be 'week'."),
        ("partitions", "{admitted: mont}", "Did you mean 'month'?"),
        ("partitions", "[ward]", "'partitions' must hold keys and values, not a list"),
    ],
)
def test_a_fault_is_reported_with_its_line(key: str, written: str, fault: str) -> None:
    (found,) = faults(table(**{key: written}))
    assert found.startswith("policy:8: ")
    assert fault in found


def test_the_budget_of_all_tables_has_faults_too() -> None:
    text = table() + "budget: {epsilon: 0, analysts: {al: {epsilon: x}}}\n"
    assert faults(text) == (
        "policy:8: budget: 'epsilon' must be more than 0, not '0'.",
        "policy:8: budget of analyst 'al': 'epsilon' must be a number, not 'x'.",
    )


def test_faults_are_reported_together() -> None:
    found = faults(
        table(budget="{epsilon: 0}", limits="{rows-per-unit: 0}", partitions="{x: value}")
    )
    assert len(found) == 3


@pytest.mark.parametrize(
    "block",
    [
        "unit: person",
        "budget: {epsilon: 1}",
        "limits: {rows-per-unit: 1}",
        "criteria: [{k-anonymity: {k: 2}}]",
        "partitions: {ward: value}",
    ],
)
def test_a_public_table_protects_no_one(block: str) -> None:
    key, _, written = block.partition(": ")
    (found,) = faults(table(public="true", **{key: written}))
    assert f"'{key}' protects no one" in found
    parse_policy(table(public="false", **{key: written}))


@pytest.mark.parametrize("parts", ["{ward: value}", "{admitted: month}", "{cost: value}"])
def test_where_each_row_is_a_person_any_column_makes_parts(parts: str) -> None:
    parse_policy(table(partitions=parts))


@pytest.mark.parametrize("unit", ["person", "{column: person}"])
@pytest.mark.parametrize("parts", ["{ward: value}", "{admitted: year}"])
def test_a_person_with_several_rows_may_be_in_several_parts(unit: str, parts: str) -> None:
    (found,) = faults(table(unit=unit, partitions=parts))
    assert "partitions: a person may have rows in several parts, so questions about" in found
    assert "column: person, per: month, on: " in found


@pytest.mark.parametrize(("per", "parts"), list(product(PERIODS, get_args(Parts))))
def test_a_persons_period_makes_parts_of_the_same_or_longer_periods_only(
    per: str, parts: str
) -> None:
    text = table(
        unit=f"{{column: person, per: {per}, on: admitted}}", partitions=f"{{admitted: {parts}}}"
    )
    if parts != "value" and PERIODS.index(parts) >= PERIODS.index(per):
        assert parse_policy(text).tables["t"].partitions == {"admitted": parts}
    else:
        (found,) = faults(text)
        assert f"one person's {per} may have rows in several parts by '{parts}'" in found


def test_a_persons_period_makes_no_parts_of_another_column() -> None:
    unit = "{column: person, per: month, on: admitted}"
    (found,) = faults(table(unit=unit, partitions="{ward: value}"))
    assert "With this unit, only 'admitted' can make parts." in found


def test_a_table_has_parts_of_one_column_only() -> None:
    text = table(partitions="{ward: value, admitted: month}")
    (found,) = faults(text)
    assert "a part by 'admitted' and one by 'ward' share rows" in found
    assert editor_faults(text)


def test_the_schema_knows_the_periods_of_the_calendar() -> None:
    assert get_args(Parts) == ("value", *PERIODS)
    assert known_keys(("tables", "t", "unit")) == ["column", "per", "on"]
    assert "analysts" in known_keys(("budget",))


periods = st.none() | st.sampled_from(PERIODS)
epsilons = st.decimals(Decimal("1e-9"), Decimal(10**6), places=12)
deltas = st.decimals(Decimal("1e-15"), Decimal("0.9"), places=15)
simple = st.builds(
    BudgetPolicy, epsilons, deltas, st.sampled_from(["approximate", "zcdp"]), periods
)


@st.composite
def budgets(draw: st.DrawFn) -> BudgetPolicy:
    found = draw(simple)
    # An analyst's budget can be renewed at another time than everybody's, but not never.
    analysts = {
        name: BudgetPolicy(other.epsilon, other.delta, other.accounting, other.per or found.per)
        for name, other in draw(
            st.dictionaries(st.sampled_from(["NO", "*", "a: b"]), simple, max_size=2)
        ).items()
    }
    return BudgetPolicy(found.epsilon, found.delta, found.accounting, found.per, analysts)


most = st.none() | st.integers(1, 10**6)


workloads = st.builds(
    WorkloadPolicy,
    st.lists(st.sampled_from(["SELECT 1", "SELECT ': #' FROM t"]), min_size=1).map(tuple),
    st.sampled_from([Decimal(1), Decimal("0.25")]),
    st.sampled_from([Decimal("0.000001"), Decimal("0.5")]),
)


@given(
    st.none() | budgets(),
    st.none() | budgets(),
    st.builds(ContributionLimits, most, most, most),
    st.sampled_from(PERIODS),
    st.dictionaries(st.sampled_from(["monthly", "NO", "1"]), workloads),
)
def test_the_answer_block_is_read_back_as_it_was_written(
    whole: BudgetPolicy | None,
    budget: BudgetPolicy | None,
    limits: ContributionLimits,
    period: Parts,
    asked_together: dict[str, WorkloadPolicy],
) -> None:
    columns = (
        ColumnPolicy("NO", ColumnRole.IDENTIFIER),
        ColumnPolicy("on", ColumnRole.QUASI_IDENTIFIER),
    )
    asked = TablePolicy(
        "t",
        columns,
        unit="NO",
        budget=budget,
        limits=limits,
        unit_period=UnitPeriod("on", "day"),
        partitions={"on": period},
    )
    policy = Policy(
        {"t": asked, "u": TablePolicy("u", columns, public=True)},
        budget=whole,
        workloads=asked_together,
    )
    assert parse_policy(dump_policy(policy)) == policy
    assert parse_policy(yaml.safe_dump(policy_value(policy), sort_keys=False)) == policy


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("{epsilon: 1, delta: 1e-6}", "workload 'monthly': the key 'queries' is missing"),
        ("{queries: [], epsilon: 1, delta: 1e-6}", "workload 'monthly'"),
        ("{queries: [SELECT 1], delta: 1e-6}", "workload 'monthly': the key 'epsilon' is missing"),
        ("{queries: [SELECT 1], epsilon: 1}", "workload 'monthly': the key 'delta' is missing"),
        ("{queries: [SELECT 1], epsilon: 1, delta: 0}", "workload 'monthly'"),
    ],
)
def test_a_workload_has_questions_and_a_price(written: str, fault: str) -> None:
    text = f"workloads:\n  monthly: {written}\ntables: {{t: {{columns: {{a: identifier}}}}}}\n"
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(text)
    assert fault in str(caught.value)
