"""Protocols of local differential privacy: their chances exactly, and their coins by chi-square."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.dp import exact
from discreet.dp.calculate.table import ChanceTable, evaluate_table
from discreet.dp.local import direct, hadamard, hashing
from discreet.dp.local.collect import perturb_column, support_of
from discreet.dp.local.protocol import METHODS, Protocol, design_protocol, odds_for
from discreet.errors import InvalidBudget, InvalidMechanism, UnsuitableValues

ALPHA = 1e-7
SAMPLE = 60_000


def protocol(method: str, size: int, epsilon: Fraction = Fraction(1)) -> Protocol:
    return design_protocol([f"v{i}" for i in range(size)], epsilon=epsilon, method=method)


CASES = [
    ("randomized-response", 2),
    ("grr", 3),
    ("grr", 7),
    ("oue", 2),
    ("oue", 4),
    ("olh", 5),
    ("hadamard", 3),
    ("hadamard", 5),
]
# The hash is random: its seeds have tests of their own.
WITHOUT_HASH = [case for case in CASES if case[0] != "olh"]


def chances(asked: Protocol) -> ChanceTable:
    """The whole table of chances of a protocol, from its definition; for OLH that of one hash."""
    size, odds = asked.size, asked.odds
    if asked.method == "oue":
        own, other = Fraction(1, 2), 1 / (odds + 1)
        outputs = list(product((0, 1), repeat=size))
        rows = [
            [
                math.prod(
                    (p if bit else 1 - p)
                    for p, bit in zip(
                        [own if i == value else other for i in range(size)], bits, strict=True
                    )
                )
                for bits in outputs
            ]
            for value in range(size)
        ]
        names = ["b" + "".join(map(str, bits)) for bits in outputs]
    elif asked.method == "hadamard":
        order = hadamard.matrix_order(asked)
        high = 2 * odds / (order * (1 + odds))
        rows = [
            [high if (row & y).bit_count() % 2 == 0 else high / odds for y in range(order)]
            for row in range(1, size + 1)
        ]
        names = list(map(str, range(order)))
    else:
        cells = hashing.hash_cell_count(asked) if asked.method == "olh" else size
        kept = odds / (odds + cells - 1)
        rows = [
            [kept if cell == value % cells else kept / odds for cell in range(cells)]
            for value in range(size)
        ]
        names = [f"v{i}" for i in range(cells)]
    return ChanceTable(asked.values, tuple(names), tuple(map(tuple, rows)))


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(4)])
@pytest.mark.parametrize(("method", "size"), CASES)
def test_no_report_is_likelier_than_epsilon_allows(method: str, size: int, epsilon: Fraction):
    found = evaluate_table(chances(protocol(method, size, epsilon)))
    assert found.epsilon <= float(epsilon)
    assert found.epsilon == pytest.approx(float(epsilon), rel=1e-6)  # and nothing is wasted


@pytest.mark.parametrize(("method", "size"), CASES)
def test_a_protocol_whose_chances_are_too_true_is_caught(method: str, size: int):
    broken = replace(protocol(method, size), odds=Fraction(272, 100))
    assert evaluate_table(chances(broken)).epsilon > 1


@given(st.fractions(Fraction(1, 10**6), 40))
def test_odds_are_never_above_e_to_the_epsilon(epsilon: Fraction):
    odds = odds_for(epsilon)
    # Compared as logarithms of 60 digits, which floats would not tell apart.
    from decimal import Context, Decimal

    context = Context(prec=60)
    exponent = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    assert odds <= Fraction(context.exp(exponent))
    assert odds.numerator.bit_length() <= 44
    assert odds.denominator.bit_length() <= 41


@pytest.mark.parametrize(("method", "size"), WITHOUT_HASH)
def test_what_supports_a_value_is_what_the_table_says(method: str, size: int):
    asked = protocol(method, size)
    table, found = chances(asked), support_of(asked)
    for value, (name, row) in enumerate(zip(table.inputs, table.rows, strict=True)):
        del name
        for other in range(size):
            supporting = sum(
                chance
                for output, chance in zip(table.outputs, row, strict=True)
                if _supports(method, output, other)
            )
            assert supporting == (found.true if value == other else found.other)


def _supports(method: str, output: str, value: int) -> bool:
    if method == "oue":
        return output[value + 1] == "1"
    if method == "hadamard":
        return (int(output) & (value + 1)).bit_count() % 2 == 0
    return output == f"v{value}"


def test_the_chance_that_two_values_meet_in_a_cell_is_exact(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hashing, "PRIME", 13)  # so that all hashes can be listed
    asked = protocol("olh", 6)
    cells, found = hashing.hash_cell_count(asked), support_of(asked)
    seeds = np.arange(13 * 13)
    kept = direct.keep_chance(asked.odds, cells)
    for first, second in product(range(6), repeat=2):
        if first == second:
            continue
        meet = hashing.hash_cells(seeds, first, cells=cells) == hashing.hash_cells(
            seeds, second, cells=cells
        )
        share = Fraction(int(meet.sum()), len(seeds))
        assert share * kept + (1 - share) * kept / asked.odds == found.other


def reports(asked: Protocol, value: int, count: int = SAMPLE) -> list[str]:
    made = perturb_column(pa.array([f"v{value}"] * count), asked)
    return made["report"].cast(pa.string()).to_pylist()


def fit(observed: list[str], table: ChanceTable, value: int) -> float:
    """The p-value of observed reports under the table's row of a value."""
    counted = Counter(observed)
    assert set(counted) <= set(table.outputs)
    expected = np.array([float(chance) for chance in table.rows[value]]) * len(observed)
    return float(stats.chisquare([counted[name] for name in table.outputs], expected).pvalue)


@pytest.mark.statistics
@pytest.mark.parametrize(("method", "size"), WITHOUT_HASH)
def test_reports_have_the_chances_of_the_table(method: str, size: int):
    # 60,000 reports of the first and of the last value; alpha 1e-7 each.
    asked = protocol(method, size)
    for value in (0, size - 1):
        assert fit(reports(asked, value), chances(asked), value) > ALPHA


@pytest.mark.statistics
def test_local_hashing_reports_the_cell_of_the_value_as_often_as_it_says():
    # 60,000 reports; each value's support is binomial; alpha 1e-7 each.
    asked = protocol("olh", 5)
    made = perturb_column(pa.array(["v3"] * SAMPLE), asked)
    found = support_of(asked)
    supports = hashing.count(made, asked)
    for value, count in enumerate(supports):
        chance = float(found.true if value == 3 else found.other)
        assert stats.binomtest(int(count), SAMPLE, chance).pvalue > ALPHA


@pytest.mark.statistics
def test_coins_that_keep_the_value_too_often_are_noticed(monkeypatch: pytest.MonkeyPatch):
    asked = protocol("grr", 3)
    honest = exact.bernoulli
    monkeypatch.setattr(
        direct.exact, "bernoulli", lambda chance, n: honest(chance + Fraction(1, 25), n)
    )
    assert fit(reports(asked, 0), chances(asked), 0) < ALPHA


def least_epsilon(asked: Protocol, first: int, second: int) -> float:
    """A lower bound on epsilon from reports of two values, wrong with a chance below 1e-6."""
    one, two = (Counter(reports(asked, value)) for value in (first, second))
    tail = ALPHA / max(len(one), 2)
    bounds = []
    for report in one:
        low = stats.beta.ppf(tail, one[report], SAMPLE - one[report] + 1)
        high = stats.beta.ppf(1 - tail, two[report] + 1, SAMPLE - two[report])
        bounds.append(math.log(low / high))
    return max(bounds)


@pytest.mark.statistics
@pytest.mark.parametrize(("method", "size"), WITHOUT_HASH)
def test_an_attack_does_not_find_more_than_epsilon(method: str, size: int):
    # 60,000 reports of each of two values; the bound fails with a chance below 1e-6.
    assert least_epsilon(protocol(method, size), 0, size - 1) <= 1


@pytest.mark.statistics
@pytest.mark.parametrize(("method", "size"), [("randomized-response", 2), ("grr", 3)])
def test_the_attack_finds_a_protocol_that_reveals_more_than_it_claims(method: str, size: int):
    broken = replace(protocol(method, size), odds=odds_for(Fraction(6, 5)))
    assert least_epsilon(broken, 0, size - 1) > 1


@pytest.mark.parametrize("method", METHODS)
def test_the_event_is_the_asked_epsilon(method: str):
    assert protocol(method, 2, Fraction(1, 3)).event.epsilon == Fraction(1, 3)


def test_the_method_that_varies_least_is_chosen():
    assert design_protocol(["a", "b"], epsilon=Fraction(1)).method == "randomized-response"
    assert design_protocol(list("abcdefghi"), epsilon=Fraction(1)).method == "grr"
    assert design_protocol([str(i) for i in range(50)], epsilon=Fraction(1)).method == "olh"


@pytest.mark.parametrize(
    ("values", "method", "kind"),
    [
        (["a"], "grr", InvalidMechanism),
        (["a", "a"], "grr", InvalidMechanism),
        (["a", "b", "c"], "randomized-response", InvalidMechanism),
        (["a", "b"], "rappor", InvalidMechanism),
    ],
)
def test_a_protocol_that_makes_no_sense_is_refused(values, method, kind):
    with pytest.raises(kind):
        design_protocol(values, epsilon=Fraction(1), method=method)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 10**15)])
def test_an_epsilon_that_buys_nothing_is_refused(epsilon: Fraction):
    with pytest.raises(InvalidBudget):
        design_protocol(["a", "b"], epsilon=epsilon)


def test_values_that_are_not_listed_are_counted_and_not_quoted():
    asked = design_protocol(["a", "b"], epsilon=Fraction(1))
    column = pa.array(["a", None, "secret", "b"])
    with pytest.raises(UnsuitableValues, match="2 of 4") as caught:
        perturb_column(column, asked)
    assert "secret" not in str(caught.value)
    assert perturb_column(column, asked, other="b").num_rows == 4
    with pytest.raises(InvalidMechanism):
        perturb_column(column, asked, other="c")


@pytest.mark.parametrize("method", ["grr", "oue", "olh", "hadamard"])
def test_numbers_chunks_and_empty_columns_are_columns_too(method: str):
    asked = design_protocol(["1", "2", "3"], epsilon=Fraction(1), method=method)
    assert perturb_column(pa.chunked_array([[1, 2], [3]]), asked).num_rows == 3
    assert perturb_column(pa.array([], pa.string()), asked).num_rows == 0
