"""Declared rules hold in every synthetic row, whatever the codes; rules that do not fit are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.engines.engine import Column, Kind
from discreet.errors import InvalidPolicy
from discreet.policy import parse_policy
from discreet.release.synthesize.domain import TableDomain, table_domain
from discreet.release.synthesize.rules import has_impossible, resolve_rules

COLUMNS = {
    "education": ("{role: sensitive, values: [primary, secondary, tertiary]}", Kind.TEXT),
    "years": ("{role: sensitive, bounds: [0, 20]}", Kind.INTEGER),
    "sex": ("{role: sensitive, values: [female, male]}", Kind.TEXT),
    "pregnant": ("sensitive", Kind.BOOLEAN),
    "age": ("{role: sensitive, bounds: [0, 120]}", Kind.INTEGER),
    "born": ("{role: sensitive, bounds: [1900-01-01, 2024-12-31]}", Kind.DATE),
    "admitted": ("{role: sensitive, bounds: [2015-01-01, 2024-12-31]}", Kind.DATE),
    "discharged": ("{role: sensitive, bounds: [1990-01-01, 2025-12-31]}", Kind.DATE),
    "treatment": ("{role: sensitive, bounds: [0, 5000]}", Kind.INTEGER),
    "board": ("{role: sensitive, bounds: [0, 300]}", Kind.INTEGER),
    "cost": ("{role: sensitive, bounds: [10, 4000]}", Kind.INTEGER),
    "low": ("{role: sensitive, bounds: [0, 7.5]}", Kind.REAL),
    "high": ("{role: sensitive, bounds: [0, 90]}", Kind.REAL),
}
RULES = """
      - dependency: {from: education, to: years, map: {primary: 6, tertiary: 16}}
      - order: [born, admitted, discharged]
      - order: [low, high]
      - never: {sex: male, pregnant: true}
      - never: {age: {below: 12}, pregnant: true}
      - never: {age: {missing: true}}
      - sum: {total: cost, parts: [treatment, board]}
"""


def domain_of(rules: str) -> TableDomain:
    columns = "\n".join(f"      {name}: {said}" for name, (said, _) in COLUMNS.items())
    text = f"tables:\n  stays:\n    columns:\n{columns}\n    rules:{rules}"
    sources = [Column(name, kind) for name, (_, kind) in COLUMNS.items()]
    return table_domain(parse_policy(text).tables["stays"], sources)


def draw_rows(domain: TableDomain, count: int) -> list[dict[str, Any]]:
    """Return rows of codes that the rules over codes allow, as values."""
    chance = np.random.default_rng(11)
    sizes = [one.size for one in domain.columns]
    system = resolve_rules(domain.rules, sizes)
    fitted = np.stack(
        [chance.integers(0, sizes[place], 20 * count) for place in system.places], axis=1
    ).astype(np.int32)
    fitted = fitted[~has_impossible(fitted, system.fitted_zeros)][:count]
    return domain.decode(system.derive(fitted), chance).to_pylist()


def test_every_rule_holds_in_every_row() -> None:
    rows = draw_rows(domain_of(RULES), 2000)

    assert len(rows) > 500
    for row in rows:
        years = {"primary": 6, "tertiary": 16}.get(row["education"])
        assert row["years"] == years
        dates = [row[name] for name in ("born", "admitted", "discharged") if row[name] is not None]
        assert dates == sorted(dates)
        assert row["low"] is None or row["high"] is None or row["low"] <= row["high"]
        assert not (row["sex"] == "male" and row["pregnant"])
        assert row["age"] is not None
        assert not (row["age"] < 12 and row["pregnant"])
        parts = (row["treatment"], row["board"])
        assert row["cost"] == (None if None in parts else sum(parts))
    assert all(row["cost"] is None or 10 <= row["cost"] <= 4000 for row in rows)


def test_values_stay_in_their_bins_where_rules_leave_room() -> None:
    domain = domain_of("\n      - order: [admitted, discharged]")
    codes = np.zeros((500, len(domain.columns)), np.int32)
    admitted, discharged = domain.place("admitted"), domain.place("discharged")
    assert admitted is not None
    assert discharged is not None
    codes[:, admitted] = 12  # of months
    codes[:, discharged] = domain.columns[discharged].coding.find_code(
        domain.columns[admitted].decode(np.array([12]), np.random.default_rng(1))[0].as_py()
    )

    made = domain.decode(codes, np.random.default_rng(2))

    for place in (admitted, discharged):
        found = domain.columns[place].encode(made[domain.columns[place].name].combine_chunks())
        assert found.tolist() == codes[:, place].tolist()
    days = [
        (b - a).days
        for a, b in zip(*(made[n].to_pylist() for n in ("admitted", "discharged")), strict=True)
    ]
    assert min(days) >= 0
    assert max(days) > 0


def test_a_table_without_rules_breaks_them_which_the_check_notices() -> None:
    plain = domain_of(" []")
    codes = np.stack(
        [
            np.random.default_rng(place).integers(0, one.size, 300)
            for place, one in enumerate(plain.columns)
        ],
        axis=1,
    )
    made = plain.decode(codes, np.random.default_rng(3))

    broken = domain_of(RULES).row_rules.find_broken(
        {name: made[name].combine_chunks() for name in made.column_names}
    )

    assert broken.all()


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        ("dependency: {from: education, to: years, map: {primry: 6}}", "'primry' is no value of 'education'"),
        ("dependency: {from: treatment, to: sex, map: {5: male}}", "'treatment' has bins, not values"),
        ("order: [admitted, age]", "'admitted' and 'age' cannot be compared"),
        ("order: [sex, education]", "cannot be compared"),
        ("never: {sex: {below: 5}}", "'sex' has no order"),
        ("never: {age: {below: 2024-01-01}}", "'2024-01-01' cannot be compared with 'age'"),
        ("sum: {total: sex, parts: [age, board]}", "'sex' is no column of numbers"),
        ("sum: {total: cost, parts: [low, board]}", "have more decimals than 'cost' holds"),
    ],
)  # fmt: skip
def test_rules_that_do_not_fit_their_columns_are_refused(rule: str, fault: str) -> None:
    with pytest.raises(InvalidPolicy, match="rule '") as caught:
        domain_of(f"\n      - {rule}")

    assert fault in str(caught.value)


def test_orders_in_a_circle_are_refused() -> None:
    with pytest.raises(InvalidPolicy, match="form a circle"):
        domain_of("\n      - order: [low, high]\n      - order: [high, low]")


def test_rules_that_no_row_meets_are_refused_before_anything_is_paid() -> None:
    rules = "\n      - never: {sex: [female, male]}\n      - never: {sex: {missing: true}}"

    with pytest.raises(InvalidPolicy, match="contradict each other"):
        domain_of(rules)


def test_a_column_that_follows_needs_no_values_of_its_own() -> None:
    columns = "{a: {role: sensitive, values: [x, y]}, b: sensitive}"
    rule = "{dependency: {from: a, to: b, map: {x: 6, y: 16}}}"
    policy = parse_policy(f"tables: {{t: {{columns: {columns}, rules: [{rule}]}}}}").tables["t"]

    domain = table_domain(policy, [Column("a", Kind.TEXT), Column("b", Kind.INTEGER)])

    assert domain.columns[1].size == 3


def test_rules_survive_the_content_of_the_domain() -> None:
    domain = domain_of(RULES)

    assert TableDomain.from_content(domain.to_content()) == domain
