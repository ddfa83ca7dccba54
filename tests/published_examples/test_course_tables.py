"""Sections B, C and D of the published examples: the tables of three courses' slides, in `tables/`."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import discreet

TABLES = Path(__file__).parent / "tables"


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(TABLES / f"{name}.csv", dtype=str)


def assess(source, sensitive: str | list[str] | None = None, **options) -> discreet.Assessment:
    """Assess a table of the published examples; every column that is not sensitive is a quasi-identifier."""
    hidden = [sensitive] if isinstance(sensitive, str) else (sensitive or [])
    frame = read(source) if isinstance(source, str) else source
    quasi = [name for name in frame.columns if name not in hidden]
    given = TABLES / f"{source}.csv" if isinstance(source, str) else source
    return discreet.assess(given, quasi=quasi, sensitive=hidden, depth=0, **options)


def repeated(rows: list[tuple[str, str, int]]) -> pd.DataFrame:
    """A table of (class, value) written with counts."""
    pairs = [(group, value) for group, value, count in rows for _ in range(count)]
    return pd.DataFrame(pairs, columns=["group", "value"])


def exactly(value: float):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def test_b1_the_published_table_names_ten_of_eleven_voters():
    voters = read("b1_voters").drop(columns="Name")
    found = discreet.assess(
        read("b1_published"), quasi=["Age", "Sex", "Zipcode"], against=voters, depth=0
    )
    assert (found.unique, found.presence.k_map, found.presence.population) == (10, 1, 11)
    assert found.presence.lowest == 0  # Mike is in the list and fits no one
    assert found.presence.people_not_in_population == 0


def test_b2_the_two_anonymous_table_reveals_the_disease_of_joe_and_sam():
    found = assess("b2_two_anonymous", "Disease")
    disease = found.sensitive["Disease"]
    assert (found.k, found.classes, disease.l.distinct) == (2, 4, 1)
    assert disease.t.equal == exactly(4 / 5)
    assert disease.worst["distinct"][0].values == {
        "Age": "[11, 20]",
        "Sex": "M",
        "Zipcode": "[20001, 25000]",
    }


def test_b4_mike_hides_no_one_but_ken_and_nash():
    """Not in the textbook: k-map and δ-presence of B2, the voters generalized as the release is."""
    voters = read("b1_voters").drop(columns="Name")
    age, zipcode = voters["Age"].astype(int), voters["Zipcode"].astype(int)
    voters["Age"] = pd.cut(age, [0, 10, 20, 60], labels=["[1, 10]", "[11, 20]", "[21, 60]"])
    voters["Zipcode"] = pd.cut(
        zipcode,
        [10000, 15000, 20000, 25000, 60000],
        labels=["[10001, 15000]", "[15001, 20000]", "[20001, 25000]", "[30000, 60000]"],
    )
    found = assess("b2_two_anonymous", "Disease", against=voters)
    assert (found.presence.k_map, found.presence.highest) == (2, 1.0)
    assert found.presence.lowest == exactly(2 / 3)


def test_b5_bob_has_heart_disease():
    found = assess("b5_three_anonymous", "Disease")
    disease = found.sensitive["Disease"]
    assert (found.k, disease.l.distinct) == (3, 1)
    assert disease.t.equal == exactly(4 / 9)
    assert disease.worst["distinct"][0].values == {"Zipcode": "476**", "Age": "2*"}


def test_b6_carl_without_heart_disease_has_cancer():
    table = read("b5_three_anonymous")
    assert [v.level for v in _of_class(assess("b5_three_anonymous", "Disease"), "3*")] == [
        exactly(2 / 3)
    ]
    knowing = assess(table[table["Disease"] != "Heart Disease"], "Disease")
    assert [v.level for v in _of_class(knowing, "3*")] == [1.0]


def _of_class(found: discreet.Assessment, age: str) -> list:
    worst = found.sensitive["Disease"].worst["confidence"]
    return [view for view in worst if view.values["Age"] == age]


def test_b8_the_two_diverse_table_is_two_diverse_in_every_sense():
    """As a table; the textbook's is no generalization of its microdata (Bill is 9, not in [1, 5])."""
    found = assess("b8_two_diverse", "Disease")
    disease = found.sensitive["Disease"]
    assert (found.k, disease.l.distinct) == (2, 2)
    assert disease.l.entropy == exactly(2)
    assert disease.alpha == exactly(1 / 2)
    assert disease.t.equal == exactly(4 / 5)


def test_b9_98_of_100_have_hiv():
    table = repeated([("g", "HIV", 98), ("g", "pneumonia", 1), ("g", "bronchitis", 1)])
    found = assess(table, "value").sensitive["value"]
    entropy = math.exp(-(0.98 * math.log(0.98) + 2 * 0.01 * math.log(0.01)))
    assert (found.alpha, found.l.distinct) == (exactly(0.98), 3)
    assert found.l.probabilistic == exactly(100 / 98)
    assert found.l.entropy == exactly(entropy)
    assert found.l.entropy == pytest.approx(1.118, abs=5e-4)
    assert found.l.recursive[2] == exactly(49)


def test_b10_50_of_51_have_hiv_once_pneumonia_is_ruled_out():
    table = repeated([("g", "HIV", 50), ("g", "pneumonia", 49), ("g", "bronchitis", 1)])
    found = assess(table, "value").sensitive["value"]
    assert found.l.probabilistic == exactly(2)
    assert found.l.entropy == pytest.approx(2.100, abs=5e-4)
    assert (found.l.recursive[2], found.l.recursive[3]) == (exactly(1), exactly(50))
    knowing = assess(table[table["value"] != "pneumonia"], "value").sensitive["value"]
    assert knowing.alpha == exactly(50 / 51)


def test_b12_diversity_can_be_harmless_where_it_lacks_and_leak_where_it_is():
    harmless = repeated(
        [("q1", "cancer", 99), ("q1", "flu", 1), ("q2", "cancer", 99), ("q2", "flu", 1)]
    )
    leaking = repeated(
        [("q1", "cancer", 1), ("q1", "flu", 1), ("q2", "cancer", 197), ("q2", "flu", 1)]
    )
    assert assess(harmless, "value").sensitive["value"].t.equal == exactly(0)
    found = assess(leaking, "value").sensitive["value"]
    assert found.t.equal == exactly(0.49)
    assert found.worst["equal"][0].values == {"group": "q1"}


def test_b13_the_t_close_table_is_as_the_whole_in_both_classes():
    found = assess("b13_t_close", "Disease")
    disease = found.sensitive["Disease"]
    assert (found.k, disease.l.distinct, disease.t.equal) == (6, 3, exactly(0))


def test_b14_perfectly_close_columns_are_not_close_together():
    """The textbook's claim holds for each column alone; jointly t = 1/4.

    The slide says "flu is not a quasi-identifier"; it must be shingles: an Asian with shingles is
    the one with HIV.
    """
    table = read("b14_perfectly_close")
    found = assess(table, ["HIV", "Disease"])
    assert found.k == 4
    assert found.sensitive["Disease"].l.distinct == 3
    assert found.sensitive["HIV"].l.distinct == 2
    assert found.sensitive["Disease"].t.equal == exactly(0)
    assert found.sensitive["HIV"].t.equal == exactly(0)
    table["both"] = table["HIV"] + " " + table["Disease"]
    jointly = assess(table.drop(columns=["HIV", "Disease"]), "both")
    assert jointly.sensitive["both"].t.equal == exactly(1 / 4)
    knowing = assess(table[["Race", "Zipcode", "Disease", "HIV"]], "HIV").sensitive["HIV"]
    alone = {"Race": "Asian/AfrAm", "Zipcode": "787XX", "Disease": "Shingles"}
    assert alone in [view.values for view in knowing.worst["distinct"]]


@pytest.mark.parametrize(
    ("rows", "k"),
    [
        ([("13053", "< 40", "*"), ("13067", "< 40", "*")] * 2, 2),
        ([("130**", "< 40", "*")] * 4, 4),
        ([("130**", "< 30", "American")] * 2 + [("130**", "3*", "Asian")] * 2, 2),
    ],
)
def test_b15_generalizations_of_four_rows(rows, k):
    assert assess(pd.DataFrame(rows, columns=["Zip", "Age", "Nationality"])).k == k


def test_b16_the_four_anonymization_reveals_bobs_cancer():
    found = assess("b16_four_anonymous", "Condition")
    condition = found.sensitive["Condition"]
    assert (found.k, condition.l.distinct) == (4, 1)
    assert condition.t.equal == exactly(7 / 12)
    assert condition.worst["distinct"][0].values == {
        "Zip": "130**",
        "Age": "3*",
        "Nationality": "*",
    }


def test_b16_umeko_without_heart_disease_has_a_viral_infection():
    table = read("b16_four_anonymous")
    knowing = assess(table[table["Condition"] != "Heart Disease"], "Condition")
    worst = knowing.sensitive["Condition"].worst["distinct"]
    levels = {view.values["Age"]: view.level for view in worst}
    assert levels["< 30"] == 1


def test_b17_the_three_diverse_table():
    """The textbook's classes "<= 40" and ">= 40" overlap at 40; as a table it is what it says."""
    found = assess("b17_three_diverse", "Condition")
    condition = found.sensitive["Condition"]
    assert (found.k, condition.l.distinct, condition.alpha) == (4, 3, 0.5)
    assert condition.t.equal == exactly(1 / 6)


def test_b18_confidence_in_the_two_diverse_table():
    """ "At most 1/l" follows from probabilistic, not from distinct l-diversity, as the textbook says."""
    found = assess("b18_two_diverse", "Disease")
    disease = found.sensitive["Disease"]
    assert (found.k, disease.l.distinct, disease.alpha) == (4, 2, 0.5)
    assert disease.l.probabilistic == exactly(2)
    assert disease.t.equal == exactly(1 / 2)


def test_b19_the_similarity_attack_is_seen_by_the_ordered_distance():
    found = assess("b19_similarity", ["Salary", "Disease"])
    salary, disease = found.sensitive["Salary"], found.sensitive["Disease"]
    assert (found.k, salary.l.distinct, disease.l.distinct) == (3, 3, 3)
    assert disease.t.equal == exactly(4 / 9)
    levels = {(v.values["Zipcode"], v.values["Age"]): v.level for v in salary.worst["ordered"]}
    assert levels == {
        ("476**", "2*"): exactly(3 / 8),
        ("4790*", ">=40"): exactly(1 / 6),
        ("476**", "3*"): exactly(17 / 72),
    }
    assert salary.t.ordered == exactly(3 / 8)


def test_c24_the_party_table():
    found = assess("c24_party", "Party")
    party = found.sensitive["Party"]
    assert (found.k, party.l.distinct, party.t.equal) == (3, 1, exactly(2 / 3))


def test_c25_age_and_gender():
    table = read("c25_age_gender")
    decade = table.assign(Age=table["Age"].str[0])
    cases = table[["Gender"]], table[["Age"]], decade, decade[["Age"]]
    assert [assess(case).k for case in cases] == [2, 1, 1, 4]


def test_c26_gender_and_birth_year():
    table = read("c26_gender_dob").drop(columns="Party")
    decade = table.assign(DOB=table["DOB"].str[:3])
    cases = table, decade, table[["DOB"]], decade[["DOB"]]
    assert [assess(case).k for case in cases] == [1, 3, 2, 4]


@pytest.mark.parametrize(("cuts", "k"), [([19, 29, 39, 49], 2), ([19, 26, 35, 49], 3)])
def test_c27_age_ranges(cuts, k):
    table = read("c27_age_province")
    ranges = pd.cut(table["Age"].astype(int), cuts).astype(str)
    assert assess(table.assign(Age=ranges)).k == k


def test_c28_alice_votes_green():
    worst = assess("c24_party", "Party").sensitive["Party"].worst["distinct"][0]
    assert (worst.values, worst.level) == ({"ZIP": "N1C***", "DOB": "196*_**_**"}, 1)


def test_c29_bob_who_is_not_liberal_is_conservative():
    table = read("c24_party")
    knowing = assess(table[table["Party"] != "Liberal Party"], "Party").sensitive["Party"]
    levels = {view.values["ZIP"]: view.level for view in knowing.worst["distinct"]}
    assert levels["G0A***"] == 1


def test_c30_david_is_probably_positive():
    table = repeated(
        [("N3P", "Pos", 48), ("N3P", "Neg", 1), ("H1A", "Neg", 948), ("H1A", "Pos", 1)]
    )
    found = assess(table, "value")
    test = found.sensitive["value"]
    assert (found.rows, found.k, test.l.distinct) == (998, 49, 2)
    assert test.t.equal == exactly(45503 / 48902)
    levels = {view.values["group"]: view.level for view in test.worst["confidence"]}
    assert levels["N3P"] == exactly(48 / 49)


def test_c31_the_t_of_two_classes():
    table = repeated(
        [("N3P", "Pos", 15), ("N3P", "Neg", 25), ("H1A", "Pos", 15), ("H1A", "Neg", 45)]
    )
    found = assess(table, "value").sensitive["value"]
    levels = {view.values["group"]: view.level for view in found.worst["equal"]}
    assert levels == {"N3P": exactly(0.075), "H1A": exactly(0.05)}
    assert found.t.equal == exactly(0.075)


def test_c32_the_t_of_three_values():
    """The textbook labels its second line P_N3P; it is P_H1A."""
    table = repeated(
        [
            ("N3P", "Pos", 5),
            ("N3P", "Neg", 22),
            ("N3P", "Inc", 3),
            ("H1A", "Pos", 12),
            ("H1A", "Neg", 47),
            ("H1A", "Inc", 1),
        ]
    )
    found = assess(table, "value")
    virus = found.sensitive["value"]
    levels = {view.values["group"]: view.level for view in virus.worst["equal"]}
    assert (found.k, virus.l.distinct) == (30, 3)
    assert levels == {"N3P": exactly(1 / 18), "H1A": exactly(1 / 36)}


def test_d6_the_row_that_is_alone_must_be_suppressed():
    """The textbook's rows are no generalization of its first table (50 became [20-29])."""
    table = read("d6_five_rows")
    assert assess(table, "Diagnosis").k == 1
    assert assess(table[table["Age"] != "[20-29]"], "Diagnosis").k == 2
    starred = table.copy()
    starred.loc[starred["Age"] == "[20-29]", ["Sex", "Age", "Zip"]] = "*"
    found = assess(starred, "Diagnosis")
    # A row of stars is still one row: anyone who fits no other class is it. It must be left out.
    assert (found.k, found.suppressed) == (1, 1)


def test_d7_five_anonymous_and_two_diverse():
    found = assess("d7_five_anonymous", "Diagnosis")
    diagnosis = found.sensitive["Diagnosis"]
    assert (found.k, diagnosis.l.distinct, diagnosis.alpha) == (5, 2, exactly(0.8))


def test_d8_two_anonymous_and_one_diverse():
    found = assess("d8_nine_rows", "Diagnosis")
    diagnosis = found.sensitive["Diagnosis"]
    assert (found.k, found.class_sizes, diagnosis.l.distinct) == (2, {2: 6, 3: 3}, 1)
    assert diagnosis.t.equal == exactly(7 / 9)
