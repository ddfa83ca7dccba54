"""What classes of the published examples' tables reveal: sections B, C and D, every number of them."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

from discreet.attacks.classes.background import (
    find_all,
    find_background,
    read_knowledge,
    rule_out,
    with_knowledge,
)
from discreet.attacks.classes.histograms import opened_release, read_classes
from discreet.attacks.classes.homogeneity import find_homogeneity
from discreet.attacks.classes.inference import find_inference
from discreet.attacks.classes.person import find_person, infer_beliefs
from discreet.attacks.classes.similarity import find_similarity
from discreet.attacks.classes.skewness import find_skewness
from discreet.policy.load import load_policy

TABLES = Path(__file__).parent / "tables"


def exactly(value: float):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def opened(source: str | pd.DataFrame, *sensitive: str):
    """Open a table of the published examples; every column that is not sensitive is a quasi-identifier."""
    frame = pd.read_csv(TABLES / f"{source}.csv") if isinstance(source, str) else source
    quasi = [name for name in frame.columns if name not in sensitive]
    return opened_release(frame, quasi=quasi, sensitive=list(sensitive))


def attacked(source, *sensitive: str, attack=find_homogeneity, **options):
    """Return the findings of an attack on each sensitive column, then on all as one."""
    with opened(source, *sensitive) as bound:
        return [attack(result, **options) for result in read_classes(bound).all]


def beliefs(source, sensitive: str, *knows: str, **person: str) -> dict[str, float]:
    """Return what a person who knows this believes about the person in a class."""
    with opened(source, sensitive) as bound:
        known = read_knowledge(knows, bound.subject.table)
        result = read_classes(with_knowledge(bound, known)).columns[0]
        wanted = ", ".join(f"{name} {value}" for name, value in person.items())
        place = next(i for i in range(len(result.groups)) if result.describe(i) == wanted)
        entries = slice(result.groups.starts[place], result.groups.starts[place + 1])
        values = result.values(result.groups.codes[entries].tolist())
        return dict(zip(values, result.groups.shares[entries].tolist(), strict=True))


def repeated(rows: list[tuple[str, str, int]]) -> pd.DataFrame:
    """A table of (class, value) written with counts."""
    pairs = [(group, value) for group, value, count in rows for _ in range(count)]
    return pd.DataFrame(pairs, columns=["group", "value"])


def test_b2_joe_and_sam_have_pneumonia():
    (found,) = attacked("b2_two_anonymous", "Disease")
    assert (found.targets, found.claimed, found.correct) == (10, 2, 2)
    assert (found.rate, found.baseline, found.details["classes"]) == (0.2, 0.0, 4)
    assert "Age [11, 20], Sex M, Zipcode [20001, 25000]" in found.example[0]
    assert "pneumonia" in found.example[1]
    (skewed,) = attacked("b2_two_anonymous", "Disease", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(4 / 5)


def test_b5_bob_has_heart_disease():
    (found,) = attacked("b5_three_anonymous", "Disease")
    assert (found.claimed, found.rate) == (3, exactly(1 / 3))
    assert "Zipcode 476**, Age 2*" in found.example[0]
    (skewed,) = attacked("b5_three_anonymous", "Disease", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(4 / 9)
    result = beliefs("b5_three_anonymous", "Disease", Zipcode="476**", Age="2*")
    assert result == {"Heart Disease": 1.0}


def test_b6_carl_has_cancer_once_heart_disease_is_ruled_out():
    carl = {"Zipcode": "476**", "Age": "3*"}
    before = beliefs("b5_three_anonymous", "Disease", **carl)
    assert before == {"Heart Disease": exactly(1 / 3), "Cancer": exactly(2 / 3)}
    after = beliefs("b5_three_anonymous", "Disease", "Disease <> 'Heart Disease'", **carl)
    assert after == {"Cancer": 1.0}
    with opened("b5_three_anonymous", "Disease") as bound:
        (found,) = find_all(bound, knows=["Disease <> 'Heart Disease'"], rules_out=0)
    # Of the four without heart disease the two in Carl's class are revealed.
    assert (found.targets, found.claimed, found.baseline) == (4, 2, 0.0)


def test_b9_98_of_100_have_hiv():
    table = repeated([("g", "HIV", 98), ("g", "pneumonia", 1), ("g", "bronchitis", 1)])
    (found,) = attacked(table, "value", attack=find_inference, sure=0.9)
    assert (found.claimed, found.correct, found.certainty) == (100, 98, exactly(0.98))
    # One class is the whole table: guessing without it is as good.
    assert (found.rate, found.baseline, found.advantage) == (0.98, 0.98, 0.0)


def test_b10_50_of_51_have_hiv_once_pneumonia_is_ruled_out():
    table = repeated([("g", "HIV", 50), ("g", "pneumonia", 49), ("g", "bronchitis", 1)])
    (found,) = attacked(table, "value", attack=find_background, rules_out=1)
    worst = [entry["worst"] for entry in found.details["by_values_ruled_out"]]
    assert worst == [exactly(0.5), exactly(50 / 51), 1.0]
    # Ruled out for each: a person with pneumonia is revealed by 49 of 50, with bronchitis by 1 of 51.
    assert (found.claimed, found.details["average"]) == (99, exactly(50 / 51))
    assert beliefs(table, "value", "value <> 'pneumonia'", group="g")["HIV"] == exactly(50 / 51)


def test_b12_a_class_as_the_whole_table_teaches_nothing_and_a_diverse_one_may():
    harmless = repeated(
        [("q1", "cancer", 99), ("q1", "flu", 1), ("q2", "cancer", 99), ("q2", "flu", 1)]
    )
    leaking = repeated(
        [("q1", "cancer", 1), ("q1", "flu", 1), ("q2", "cancer", 197), ("q2", "flu", 1)]
    )
    (found,) = attacked(harmless, "value", attack=find_skewness)
    assert (found.claimed, found.details["t"]["equal"]["worst"]) == (0, exactly(0))
    (found,) = attacked(leaking, "value", attack=find_skewness)
    assert (found.claimed, found.details["t"]["equal"]["worst"]) == (1, exactly(0.49))
    assert found.details["lift"]["worst"] == exactly(50)
    (sure,) = attacked(harmless, "value", attack=find_inference)
    assert (sure.rate, sure.advantage) == (exactly(0.99), 0.0)


def test_b13_the_t_close_table_moves_no_belief():
    (found,) = attacked("b13_t_close", "Disease", attack=find_skewness)
    assert found.details["t"]["equal"] == {"worst": exactly(0), "average": exactly(0)}
    assert (found.claimed, found.details["lift"]["worst"]) == (0, exactly(1))
    (guessed,) = attacked("b13_t_close", "Disease", attack=find_inference, sure=0.5)
    assert (guessed.rate, guessed.baseline) == (0.5, 0.5)


def test_b14_columns_that_are_close_alone_are_not_close_together():
    hiv, disease, both = attacked("b14_perfectly_close", "HIV", "Disease", attack=find_skewness)
    assert hiv.details["t"]["equal"]["worst"] == exactly(0)
    assert disease.details["t"]["equal"]["worst"] == exactly(0)
    assert both.details["columns"] == ("HIV", "Disease")
    assert both.details["t"]["equal"] == {"worst": exactly(1 / 4), "average": exactly(1 / 4)}


def test_b14_an_asian_with_shingles_has_hiv():
    """The slide says flu; it must be shingles."""
    with opened("b14_perfectly_close", "HIV", "Disease") as bound:
        (found,) = find_all(bound, knows=["Disease"], rules_out=0)
        result = read_classes(bound).columns[0]
    assert result.names == ("HIV",)
    # Without race and ZIP the disease alone reveals it for the four with acne.
    assert (found.claimed, found.targets, found.baseline) == (8, 8, 0.5)
    shingles = {"Race": "Asian/AfrAm", "Zipcode": "787XX", "Disease": "Shingles"}
    table = pd.read_csv(TABLES / "b14_perfectly_close.csv")
    order = table[["Race", "Zipcode", "Disease", "HIV"]]
    assert beliefs(order, "HIV", **shingles) == {"HIV+": 1.0}


def test_b16_bob_has_cancer():
    (found,) = attacked("b16_four_anonymous", "Condition")
    assert (found.claimed, found.rate) == (4, exactly(1 / 3))
    bob = {"Zip": "130**", "Age": "3*", "Nationality": "*"}
    assert beliefs("b16_four_anonymous", "Condition", **bob) == {"Cancer": 1.0}
    (skewed,) = attacked("b16_four_anonymous", "Condition", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(7 / 12)


def test_b16_umeko_has_a_viral_infection_because_japanese_have_no_heart_disease():
    umeko = {"Zip": "130**", "Age": "< 30", "Nationality": "*"}
    result = beliefs("b16_four_anonymous", "Condition", "Condition <> 'Heart Disease'", **umeko)
    assert result == {"Viral Infection": 1.0}


def test_b17_the_three_diverse_table_reveals_neither_bob_nor_umeko():
    table = pd.read_csv(TABLES / "b17_three_diverse.csv")
    (found,) = attacked(table, "Condition")
    assert (found.claimed, found.rate) == (0, 0.0)
    (skewed,) = attacked(table, "Condition", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(1 / 6)
    umeko = {"Zip": "1306*", "Age": "<= 40", "Nationality": "*"}
    result = beliefs(table, "Condition", "Condition <> 'Heart Disease'", **umeko)
    assert result == {"Viral Infection": exactly(1 / 3), "Cancer": exactly(2 / 3)}
    bob = {"Zip": "1305*", "Age": "<= 40", "Nationality": "*"}
    assert beliefs(table, "Condition", **bob) == {
        "Heart Disease": 0.25,
        "Viral Infection": 0.25,
        "Cancer": 0.5,
    }


def test_b18_bobs_disease_is_inferred_with_one_half_at_most():
    (found,) = attacked("b18_two_diverse", "Disease", attack=find_inference, sure=0.9)
    assert (found.claimed, found.details["worst"]) == (0, 0.5)
    (skewed,) = attacked("b18_two_diverse", "Disease", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(1 / 2)


def test_b18_two_distinct_values_do_not_bound_the_chance_by_one_half():
    """ "At most 1/l" follows from probabilistic l-diversity, not from distinct l-diversity."""
    table = repeated([("g", "flu", 9), ("g", "cold", 1), ("h", "flu", 5), ("h", "cold", 5)])
    (found,) = attacked(table, "value", attack=find_inference, sure=0.9)
    assert (found.details["worst"], found.claimed, found.correct) == (0.9, 10, 9)


def test_b19_bobs_salary_is_low_and_his_stomach_ill(tmp_path):
    salaries = pd.read_csv(TABLES / "b19_similarity.csv")
    with opened(salaries, "Salary", "Disease") as bound:
        salary, disease, _ = read_classes(bound).all
        (near,) = find_similarity(salary)
        assert (near.claimed, near.details["within"]) == (3, exactly(20_000))
        assert "20000, 30000, 40000" in near.example[1]
        assert find_similarity(disease) == ()
        distances = find_skewness(salary).details["t"]
        assert distances["ordered"]["worst"] == exactly(3 / 8)
        assert distances["ordered"]["average"] == exactly((3 / 8 + 1 / 6 + 17 / 72) / 3)
        assert find_skewness(disease).details["t"]["equal"]["worst"] == exactly(4 / 9)
        assert [find_homogeneity(result).claimed for result in (salary, disease)] == [0, 0]


def test_b19_three_kinds_of_stomach_trouble_are_one(tmp_path):
    kinds = {
        "stomach": ["Gastric Ulcer", "Gastritis", "Stomach Cancer"],
        "breathing": ["Flu", "Bronchitis", "Pneumonia"],
    }
    lines = [f"{value};{kind};*" for kind, values in kinds.items() for value in values]
    (tmp_path / "kinds.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "policy.yaml").write_text(
        "tables:\n  t:\n    columns:\n      Zipcode: quasi-identifier\n      Age: quasi-identifier\n"
        "      Salary: insensitive\n"
        "      Disease: {role: sensitive, hierarchy: {file: kinds.csv}}\n",
        encoding="utf-8",
    )
    policy = load_policy(tmp_path / "policy.yaml")
    with opened_release(TABLES / "b19_similarity.csv", policy) as bound:
        (found,) = find_similarity(read_classes(bound).columns[0])
    assert (found.claimed, found.details["by"]) == (3, "hierarchy")
    assert "Zipcode 476**, Age 2*" in found.example[0]


def test_c28_alice_votes_green():
    (found,) = attacked("c24_party", "Party")
    assert (found.claimed, found.rate) == (3, exactly(1 / 3))
    alice = {"ZIP": "N1C***", "DOB": "196*_**_**"}
    assert beliefs("c24_party", "Party", **alice) == {"Green Party": 1.0}


def test_c29_bob_who_is_not_liberal_is_conservative():
    bob = {"ZIP": "G0A***", "DOB": "197*_**_**"}
    result = beliefs("c24_party", "Party", "Party <> 'Liberal Party'", **bob)
    assert result == {"Conservative Party": 1.0}
    (found,) = attacked("c24_party", "Party", attack=find_background, rules_out=1, sure=1.0)
    assert (found.claimed, found.rate) == (6, exactly(2 / 3))


def test_c30_david_is_positive():
    rows = [("N3P 199*", "positive", 48), ("N3P 199*", "negative", 1)]
    rows += [("elsewhere", "positive", 1), ("elsewhere", "negative", 948)]
    (found,) = attacked(repeated(rows), "value", attack=find_skewness)
    assert (found.targets, found.claimed) == (998, 48)
    assert found.details["t"]["equal"]["worst"] == exactly(45503 / 48902)
    assert found.details["lift"]["worst"] == exactly((48 / 49) / (49 / 998))
    (guessed,) = attacked(repeated(rows), "value", attack=find_inference)
    assert guessed.details["guessed_right"] == exactly((48 + 948) / 998)
    assert guessed.baseline == exactly(949 / 998)
    assert guessed.details["worst"] == exactly(948 / 949)


def test_c31_the_distance_of_two_classes():
    rows = [("N3P", "Pos", 15), ("N3P", "Neg", 25), ("H1A", "Pos", 15), ("H1A", "Neg", 45)]
    (found,) = attacked(repeated(rows), "value", attack=find_skewness)
    average = (40 * 0.075 + 60 * 0.05) / 100
    assert found.details["t"]["equal"] == {"worst": exactly(0.075), "average": exactly(average)}


def test_c32_the_bonus_distance_is_one_in_eighteen():
    rows = [("N3P", "a", 5), ("N3P", "b", 22), ("N3P", "c", 3)]
    rows += [("H1A", "a", 12), ("H1A", "b", 47), ("H1A", "c", 1)]
    (found,) = attacked(repeated(rows), "value", attack=find_skewness)
    assert found.details["t"]["equal"]["worst"] == exactly(1 / 18)
    average = (30 * (1 / 18) + 60 * (1 / 36)) / 90
    assert found.details["t"]["equal"]["average"] == exactly(average)


def test_d6_a_person_who_is_alone_is_revealed():
    (found,) = attacked("d6_five_rows", "Diagnosis")
    assert (found.claimed, found.details["exposed_classes"]) == (3, 2)
    table = pd.read_csv(TABLES / "d6_five_rows.csv")
    (without,) = attacked(table[table["Age"] != "[20-29]"], "Diagnosis")
    assert (without.claimed, without.targets) == (2, 4)


def test_d7_four_of_five_have_cancer():
    (found,) = attacked("d7_five_anonymous", "Diagnosis", attack=find_inference, sure=0.8)
    assert (found.claimed, found.correct, found.details["worst"]) == (5, 4, 0.8)
    assert attacked("d7_five_anonymous", "Diagnosis")[0].claimed == 0


def test_d8_two_women_in_their_forties_have_hiv():
    (found,) = attacked("d8_nine_rows", "Diagnosis")
    assert (found.claimed, found.targets) == (2, 9)
    assert "F, Age [40-49]" in found.example[0]
    (skewed,) = attacked("d8_nine_rows", "Diagnosis", attack=find_skewness)
    assert skewed.details["t"]["equal"]["worst"] == exactly(7 / 9)


def test_ruling_out_follows_the_formula_of_the_notes():
    table = repeated([("g", str(value), count) for value, count in enumerate([7, 5, 4, 2])])
    with opened(table, "value") as bound:
        groups = read_classes(bound).columns[0].groups
    expected = [7 / 18, 7 / (18 - 5), 7 / (18 - 9), 7 / (18 - 11), 1.0]
    got = [float(rule_out(groups, m).of_class[0]) for m in range(5)]
    assert all(math.isclose(a, b) for a, b in zip(got, expected, strict=True))


@pytest.mark.parametrize(
    ("table", "sensitive", "person", "knows", "expected"),
    [
        # B2: Joe; B5: Bob; B6: Carl before and after heart disease is ruled out.
        ("b2_two_anonymous", "Disease", "Age=12,Sex=M,Zipcode=22000", None, {"pneumonia": 1}),
        ("b5_three_anonymous", "Disease", "Zipcode=47678,Age=27", None, {"Heart Disease": 1}),
        (
            "b5_three_anonymous",
            "Disease",
            "Zipcode=47673,Age=36",
            None,
            {"Cancer": 2 / 3, "Heart Disease": 1 / 3},
        ),
        (
            "b5_three_anonymous",
            "Disease",
            "Zipcode=47673,Age=36",
            "Disease <> 'Heart Disease'",
            {"Cancer": 1},
        ),
        # B16: Bob and Umeko; B17: the same two in the 3-diverse table.
        (
            "b16_four_anonymous",
            "Condition",
            "Zip=13053,Age=31,Nationality=American",
            None,
            {"Cancer": 1},
        ),
        (
            "b16_four_anonymous",
            "Condition",
            "Zip=13068,Age=21,Nationality=Japanese",
            "Condition <> 'Heart Disease'",
            {"Viral Infection": 1},
        ),
        (
            "b17_three_diverse",
            "Condition",
            "Zip=13068,Age=21,Nationality=Japanese",
            "Condition <> 'Heart Disease'",
            {"Viral Infection": 1 / 3, "Cancer": 2 / 3},
        ),
        (
            "b17_three_diverse",
            "Condition",
            "Zip=13053,Age=31,Nationality=American",
            None,
            {"Heart Disease": 1 / 4, "Viral Infection": 1 / 4, "Cancer": 1 / 2},
        ),
        # B18: Bob; C28: Alice; C29: Bob, who is not liberal.
        (
            "b18_two_diverse",
            "Disease",
            "Age=23,Sex=M,Zipcode=11000",
            None,
            {"dyspepsia": 1 / 2, "pneumonia": 1 / 2},
        ),
        ("c24_party", "Party", "ZIP=N1C3K2,DOB=1965-03-04", None, {"Green Party": 1}),
        (
            "c24_party",
            "Party",
            "ZIP=G0A1B2,DOB=1971-12-31",
            "Party <> 'Liberal Party'",
            {"Conservative Party": 1},
        ),
    ],
)
def test_people_of_the_seeds_are_found_through_labels(table, sensitive, person, knows, expected):
    values = dict(item.split("=") for item in person.split(","))
    with opened(table, sensitive) as bound:
        known = read_knowledge([knows] if knows else [], bound.subject.table)
        (found,) = infer_beliefs(with_knowledge(bound, known), values)
    assert found.shares == {value: exactly(share) for value, share in expected.items()}


def test_nothing_is_claimed_about_a_person_who_fits_no_row():
    with opened("b2_two_anonymous", "Disease") as bound:
        (found,) = find_person(bound, {"Age": "90", "Sex": "M", "Zipcode": "22000"})
    assert (found.targets, found.claimed, found.certainty) == (1, 0, None)
