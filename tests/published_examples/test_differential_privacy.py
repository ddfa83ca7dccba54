"""Sections B, C and D of the published examples: what they calculate about differential privacy, slips corrected."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.dp.calculate.coins import (
    CoinChances,
    estimate_yes_share,
    evaluate_k_ary_response,
    evaluate_response,
    symmetric_coin_chances,
    two_coin_chances,
)
from discreet.dp.calculate.compose import compose_parts, compose_sequence, read_mechanism
from discreet.dp.calculate.distinguish import bound_distinguishing, protect_group
from discreet.dp.calculate.exponential import choose_chances
from discreet.dp.calculate.laplace import calibrate_laplace, measure_laplace
from discreet.dp.calculate.sensitivity import derive_sensitivity
from discreet.dp.calculate.table import ChanceTable, evaluate_table
from discreet.errors import InvalidMechanism

SALARIES = (Fraction(10_000), Fraction(100_000))


def exactly(value: float):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def epsilons(*texts: str):
    return [read_mechanism(text) for text in texts]


def table(rows: dict[str, list[Fraction]], outputs: tuple[str, ...]) -> ChanceTable:
    return ChanceTable(tuple(rows), outputs, tuple(map(tuple, rows.values())))


def test_b21_a_count_changes_by_one_and_its_ratio_by_exp_of_one_over_lambda():
    assert derive_sensitivity("count", neighbors="bounded").sensitivity == 1
    noise = calibrate_laplace(Fraction(1, 10), sensitivity=Fraction(1))
    assert noise.scale == 10
    assert measure_laplace(Fraction(10), sensitivity=Fraction(1)).epsilon == exactly(1 / 10)


def test_b22_a_histogram_needs_twice_the_noise_between_bounded_neighbors():
    bounded = derive_sensitivity("histogram", neighbors="bounded", epsilon=Fraction(1, 2))
    unbounded = derive_sensitivity("histogram", neighbors="unbounded", epsilon=Fraction(1, 2))
    assert (bounded.sensitivity, bounded.scale) == (2, 4)
    assert (unbounded.sensitivity, unbounded.scale) == (1, 2)


@pytest.mark.parametrize(
    ("scale", "chance"),
    [(0.1, 0.8808), (0.2, 0.7311), (0.25, 0.6900), (0.5, 0.5987), (1.0, 0.5498)],
)
def test_b23_chances_of_the_exponential_mechanism_add_up_to_one(scale: float, chance: float):
    # The slide prints 0.71 and 0.39, which add up to 1.10.
    found = choose_chances({"Gender": 0.5, "Age": 0.3}, scale=scale)
    assert found["Gender"] == pytest.approx(chance, abs=5e-5)
    assert sum(found.values()) == exactly(1)


@pytest.mark.parametrize(("chance", "scale"), [(0.71, 0.2234), (0.61, 0.4471)])
def test_b23_each_printed_chance_belongs_to_another_lambda(chance: float, scale: float):
    found = choose_chances({"Gender": 0.5, "Age": 0.3}, scale=scale)
    assert found["Gender"] == pytest.approx(chance, abs=1e-4)


def test_b24_the_printed_rows_have_other_correlations():
    # The slide says 0.5 and 0.3 for Alice, Bob, Chris and Doug.
    female, age, diabetes = [1, 0, 0, 0], [28, 19, 25, 30], [1, 1, 0, 0]
    assert np.corrcoef(female, diabetes)[0, 1] == pytest.approx(0.5774, abs=5e-5)
    assert np.corrcoef(age, diabetes)[0, 1] == pytest.approx(-0.4815, abs=5e-5)


def test_b25_noise_on_every_attribute_costs_m_times_what_one_choice_costs():
    assert compose_sequence(epsilons("0.1"), times=7).exact == "0.7"
    assert compose_sequence(epsilons("0.1")).exact == "0.1"


@pytest.mark.parametrize("label", [[1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])
def test_b26_no_attribute_gains_more_than_one_bit_about_yes_or_no(label: list[int]):
    # The slide prints gains of 3.5 and 2.2; a gain is at most the entropy of the label.
    share = np.mean(label)
    entropy = -sum(p * math.log2(p) for p in (share, 1 - share) if p)
    assert entropy <= 1 < 2.2


def test_b27_changing_a_row_is_removing_and_adding_one():
    assert protect_group(Fraction(1, 10), size=2).exact == "0.2"


def test_b27_the_number_of_rows_may_be_released_between_bounded_neighbors_only():
    numbers = ("4", "5")
    same = table({"D": [Fraction(1), Fraction(0)], "changed": [Fraction(1), Fraction(0)]}, numbers)
    added = table({"D": [Fraction(1), Fraction(0)], "added": [Fraction(0), Fraction(1)]}, numbers)
    assert evaluate_table(same).epsilon == 0
    assert evaluate_table(added).epsilon == math.inf


def test_b28_a_family_of_ten_is_protected_by_ten_epsilon():
    found = protect_group(Fraction(1, 10), size=10)
    assert found.epsilon == 1
    assert found.lowest_error_of_one == pytest.approx(0.475, abs=5e-4)
    assert found.lowest_error == pytest.approx(0.269, abs=5e-4)
    family = measure_laplace(Fraction(10), sensitivity=Fraction(10))  # the count moves by ten
    assert family.attack_error == pytest.approx(0.5 * math.exp(-0.5), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "error", "printed"),
    [
        (Fraction(0), 0.5, 0.5),
        (Fraction(1, 10), 0.47502, 0.47),
        (Fraction(1), 0.26894, 0.26),
        (Fraction(5), 0.0066929, 0.006),
        (Fraction(10), 4.5398e-5, 0.00004),
    ],
)
def test_c40_the_least_error_of_an_adversary(epsilon: Fraction, error: float, printed: float):
    found = bound_distinguishing(epsilon)
    assert found.lowest_error == pytest.approx(error, rel=1e-4)
    assert found.highest_error == 0.5
    assert printed <= found.lowest_error  # the textbook cuts digits off instead of rounding


def test_c40_the_error_at_an_epsilon_of_a_hundred_thousand_is_smaller_than_any_float():
    found = bound_distinguishing(Fraction(100_000))
    assert found.log10_lowest_error == pytest.approx(-43429.448, abs=5e-4)
    assert "10^-43429.448" in found.why
    assert found.log10_lowest_error >= -43430


@pytest.mark.parametrize(
    ("epsilon", "ratio"), [(Fraction(1, 10), 1.105), (Fraction(1), 2.718), (Fraction(5), 148.41)]
)
def test_c41_how_much_likelier_an_output_may_be(epsilon: Fraction, ratio: float):
    assert bound_distinguishing(epsilon).ratio == pytest.approx(ratio, rel=5e-4)


def test_c42_randomized_response_with_a_fair_coin():
    found = evaluate_response(two_coin_chances(Fraction(1, 2)))
    assert found.chances == {"yes": {"yes": 0.75, "no": 0.25}, "no": {"yes": 0.25, "no": 0.75}}
    assert (found.exact, found.epsilon) == ("ln 3", exactly(math.log(3)))


@pytest.mark.parametrize("yes", [0, 300, 500, 750, 1000])
def test_c43_the_estimator_of_randomized_response(yes: int):
    p = Fraction(3, 4)
    found = estimate_yes_share(symmetric_coin_chances(p), yes=yes, of=1000)
    assert found.share == exactly(float((Fraction(yes, 1000) - (1 - p)) / (2 * p - 1)))


def test_c44_problem_1_the_scale_of_a_count_a_sum_and_a_mean():
    epsilon, n = Fraction(1, 2), 250
    count = derive_sensitivity("count", neighbors="bounded", epsilon=epsilon)
    total = derive_sensitivity("sum", neighbors="bounded", bounds=SALARIES, epsilon=epsilon)
    mean = derive_sensitivity("mean", neighbors="bounded", bounds=SALARIES, n=n, epsilon=epsilon)
    assert count.scale == 1 / 0.5
    assert total.scale == 90_000 / 0.5
    assert mean.scale == 90_000 / (n * 0.5)


def test_c45_problem_2_one_count_and_the_same_count_twice():
    assert measure_laplace(Fraction(1), sensitivity=Fraction(1)).epsilon == 1
    assert compose_sequence(epsilons("laplace:1:1", "laplace:1:1")).epsilon == 2


def test_c45_problem_2_positives_and_negatives_cost_two_only_between_bounded_neighbors():
    both = epsilons("laplace:1:1", "laplace:1:1")
    assert compose_parts(both, neighbors="bounded").epsilon == 2
    assert compose_parts(both, neighbors="unbounded").epsilon == 1
    # Negatives derived as n - positives are post-processing: they cost nothing more.
    assert compose_sequence(both[:1]).epsilon == 1


def test_c46_problem_3_epsilon_and_the_number_of_citizens():
    coins = CoinChances(Fraction(3, 5), Fraction(1, 5))
    assert evaluate_response(coins).exact == "ln 3"
    assert (
        evaluate_table(coins.chances).worst.output == "yes"
    )  # "no" has the ratio 0.8/0.4 = 2 only
    found = estimate_yes_share(coins, yes=1500, of=5000)
    assert (found.share, found.people) == (0.25, 1250)
    assert found.people_lower < 1250 < found.people_upper
    assert two_coin_chances(Fraction(3, 5), second=Fraction(1, 3)) == coins


def test_c47_problem_4_a_biased_coin_reveals_more():
    found = evaluate_response(two_coin_chances(Fraction(2, 5)))
    assert list(found.chances["yes"].values()) == [0.76, 0.24]
    assert list(found.chances["no"].values()) == [0.16, 0.84]
    assert (found.exact, found.epsilon) == ("ln 4.75", pytest.approx(1.5581, abs=5e-5))
    assert found.epsilon > evaluate_response(two_coin_chances(Fraction(1, 2))).epsilon
    twice = compose_sequence(epsilons("ln:4.75"), times=2)
    assert (twice.exact, twice.epsilon) == ("2 ln 4.75", pytest.approx(3.1163, abs=5e-5))


THREE_TO_TWO = {
    "UNVAX": [Fraction(1, 2), Fraction(1, 2)],
    "DOSE1": [Fraction(1, 4), Fraction(3, 4)],
    "DOSE2": [Fraction(0), Fraction(1)],
}


def test_c48_problem_5_a_zero_in_the_table_is_not_private():
    found = evaluate_table(table(THREE_TO_TWO, ("UNP", "PROT")))
    assert (found.epsilon, found.to_dict()["epsilon"]) == (math.inf, "inf")
    assert (found.worst.output, found.worst.likely, found.worst.unlikely) == (
        "UNP",
        "UNVAX",
        "DOSE2",
    )


def test_c48_problem_5_randomized_response_afterwards_makes_it_private():
    flip = Fraction(1, 5)
    after = {
        name: [(1 - flip) * p + flip * q, (1 - flip) * q + flip * p]
        for name, (p, q) in THREE_TO_TWO.items()
    }
    found = evaluate_table(table(after, ("UNP", "PROT")))
    assert (found.exact, found.epsilon) == ("ln 2.5", pytest.approx(0.9163, abs=5e-5))
    column = [row[1] for row in after.values()]
    assert math.log(max(column) / min(column)) == pytest.approx(0.470, abs=5e-4)


@pytest.mark.parametrize(
    ("n", "p", "epsilon"),
    [
        (2, Fraction(3, 4), math.log(3)),
        (3, Fraction(1, 2), math.log(2)),
        (10, Fraction(1, 2), 2.1972),
        (4, Fraction(7, 10), 1.9459),
    ],
)
def test_c49_problem_6_generalized_randomized_response(n: int, p: Fraction, epsilon: float):
    found = evaluate_k_ary_response(p, values=n)
    assert found.epsilon == pytest.approx(epsilon, abs=5e-5)
    assert found.epsilon == exactly(math.log(p * (n - 1) / (1 - p)))


def test_c50_composition_in_sequence_in_parallel_and_for_a_group():
    three = epsilons("0.1", "0.2", "0.4")
    assert compose_sequence(three).exact == "0.7"
    assert compose_sequence(epsilons("0.1"), times=5).exact == "0.5"
    assert compose_parts(three).exact == "0.4"
    assert compose_parts(three, neighbors="bounded").exact == "0.8"  # a row may change its part
    assert protect_group(Fraction(1, 5), size=4).exact == "0.8"


def test_c51_the_variance_of_laplace_noise_is_twice_the_square_of_its_scale():
    assert measure_laplace(Fraction(3), sensitivity=Fraction(1)).standard_deviation ** 2 == exactly(
        18
    )


def test_d3_two_algorithms_cost_twice():
    assert compose_sequence(epsilons("1/4", "1/4")).exact == "0.5"


def test_d4_the_standard_deviation_is_not_the_scale():
    found = measure_laplace(Fraction(7), sensitivity=Fraction(1))
    assert found.standard_deviation == exactly(math.sqrt(2) * 7)


def test_d5_the_mean_of_blocks_changes_by_the_range_over_their_number():
    found = derive_sensitivity(
        "mean",
        neighbors="bounded",
        bounds=(Fraction(0), Fraction(60)),
        n=12,
        epsilon=Fraction(1, 4),
    )
    assert (found.sensitivity, found.scale) == (5, 20)


def test_d9_a_scale_of_zero_is_refused():
    with pytest.raises(InvalidMechanism, match="above 0"):
        measure_laplace(Fraction(0), sensitivity=Fraction(1))


def test_d11_t_questions_cost_t_epsilon():
    assert compose_sequence(epsilons("0.01"), times=365).exact == "3.65"
