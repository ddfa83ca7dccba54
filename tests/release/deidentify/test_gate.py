"""What de-identification made is attacked before it is written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.errors import RiskNotTolerated
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices
from discreet.release.deidentify.deidentify import (
    determine_source,
    pseudonymize_source,
    safe_harbor,
)
from discreet.release.deidentify.expert import ExpertChoices
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import KeyedHash

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.deidentify.record import Deidentified

PEOPLE = pa.table(
    {
        "name": [f"Zebulon Quackenbush {n}" for n in range(30)],
        "sex": ["F", "M"] * 15,
        "age": list(range(20, 50)),
    }
)
TABLE = TablePolicy(
    "people",
    (
        ColumnPolicy("name", ColumnRole.IDENTIFIER),
        ColumnPolicy("sex", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),
    ),
)


def policy(tolerance: float) -> Policy:
    return Policy({"people": replace(TABLE, tolerance={"linkage": tolerance, "uniqueness": 1.0})})


def test_people_who_are_still_found_keep_a_table_back(tmp_path: Path):
    with pytest.raises(RiskNotTolerated, match="linkage learns 100 %"):
        safe_harbor(PEOPLE, tmp_path / "out.csv", as_of=2026, policy=policy(0.1))
    assert list(tmp_path.iterdir()) == []


def test_a_reason_opens_the_gate_and_is_recorded(tmp_path: Path):
    place = tmp_path / "out.csv"
    found = safe_harbor(PEOPLE, place, as_of=2026, policy=policy(0.1), accept_risk="agreed")
    assert found.accepted_risk == "agreed"
    record = (tmp_path / "out.csv.release.json").read_text("utf-8")
    assert '"accepted_risk": "agreed"' in record
    assert "Zebulon" not in record


def test_the_record_does_not_say_whether_a_reason_was_needed(tmp_path: Path):
    found = [
        safe_harbor(
            PEOPLE,
            tmp_path / f"{tolerance}.csv",
            as_of=2026,
            policy=policy(tolerance),
            accept_risk="agreed",
        )
        for tolerance in (0.1, 1.0)
    ]
    assert [one.accepted_risk for one in found] == ["agreed", None]
    records = [
        json.loads((tmp_path / f"{tolerance}.csv.release.json").read_text())
        for tolerance in (0.1, 1.0)
    ]
    assert [one["accepted_risk"] for one in records] == ["agreed", "agreed"]


def test_a_dry_run_reports_what_would_be_kept_back():
    found = safe_harbor(PEOPLE, as_of=2026, policy=policy(0.1))
    assert [one.attack for one in found.findings if one.exceeds] == ["linkage"]


def test_keyed_pseudonyms_are_not_undone(tmp_path: Path):
    choices = PseudonymChoices(columns={"name": KeyedHash()}, key=SecretKey(bytes(range(32))))
    found = pseudonymize_source(
        PEOPLE, tmp_path / "out.csv", choices=choices, accept_risk="an example"
    )
    undone = [one for one in found.findings if one.attack == "dictionary"]
    assert undone
    assert all(one.rate == 0 for one in undone)


def answers(rows: int = 300) -> pa.Table:
    """A table that names no one by one column and everybody by all of them."""
    columns = {f"q{n}": [(row >> n) & 1 for row in range(rows)] for n in range(9)}
    return pa.table({"name": [f"Zebulon Quackenbush {n}" for n in range(rows)], **columns})


def test_people_alone_on_what_stays_keep_a_table_back_by_default(tmp_path: Path):
    with pytest.raises(RiskNotTolerated) as refusal:
        safe_harbor(answers(), tmp_path / "out.csv", as_of=2026)
    message = str(refusal.value)
    assert "uniqueness learns 100 %, tolerated 5" in message
    assert "300 people of 300 (100 %) are alone on the columns that stay" in message
    for step in ("--dry-run", "discreet anonymize", "`tolerance` in the policy", "--accept-risk"):
        assert step in message
    assert list(tmp_path.iterdir()) == []


def test_the_verdict_says_who_is_alone_on_what_stays(tmp_path: Path):
    planned = safe_harbor(answers(), as_of=2026)
    written = safe_harbor(answers(), tmp_path / "out.csv", as_of=2026, accept_risk="an example")
    sentence = "300 people of 300 (100 %) are alone on the columns that stay, all together"
    assert sentence in planned.verdict
    assert sentence in written.verdict


def test_columns_of_every_role_are_counted_together(tmp_path: Path):
    roles = [ColumnRole.INSENSITIVE] * 5 + [ColumnRole.SENSITIVE] * 4
    columns = [ColumnPolicy(f"q{n}", role) for n, role in enumerate(roles)]
    stated = TablePolicy("people", (ColumnPolicy("name", ColumnRole.IDENTIFIER), *columns))
    with pytest.raises(RiskNotTolerated, match="which is thereby learned"):
        safe_harbor(answers(), tmp_path / "out.csv", as_of=2026, policy=Policy({"people": stated}))


def test_a_tolerance_in_the_policy_opens_the_gate(tmp_path: Path):
    stated = replace(TABLE, tolerance={"linkage": 1.0, "uniqueness": 1.0})
    found = safe_harbor(PEOPLE, tmp_path / "out.csv", as_of=2026, policy=Policy({"people": stated}))
    assert found.accepted_risk is None
    assert not any(one.exceeds for one in found.findings)
    assert "alone on the columns that stay" in found.verdict


def test_rows_that_many_people_share_are_written_by_default(tmp_path: Path):
    people = pa.table({"name": PEOPLE["name"], "sex": PEOPLE["sex"]})
    found = safe_harbor(people, tmp_path / "out.csv", as_of=2026)
    assert found.accepted_risk is None
    assert [one.attack for one in found.findings][-1:] == ["uniqueness"]


def test_a_pseudonym_is_not_what_people_are_known_by(tmp_path: Path):
    choices = PseudonymChoices(columns={"name": KeyedHash()}, key=SecretKey(bytes(range(32))))
    people = pa.table({"name": PEOPLE["name"], "sex": PEOPLE["sex"]})
    found = pseudonymize_source(people, tmp_path / "out.csv", choices=choices)
    alone = next(one for one in found.findings if one.attack == "uniqueness")
    assert (alone.rate, alone.details["published"]) == (0.0, 1)


def test_pseudonymous_people_who_are_alone_on_the_rest_keep_a_table_back(tmp_path: Path):
    choices = PseudonymChoices(columns={"name": KeyedHash()}, key=SecretKey(bytes(range(32))))
    with pytest.raises(RiskNotTolerated, match="uniqueness learns 100 %"):
        pseudonymize_source(PEOPLE, tmp_path / "out.csv", choices=choices)


def test_people_with_several_rows_are_counted_once(tmp_path: Path):
    visits = pa.table({"name": ["Ann Lee"] * 3 + ["Bob Ray"] * 3, "ward": list("aabccb")})
    found = safe_harbor(visits, as_of=2026, unit="name", keep=["ward"])
    alone = next(one for one in found.findings if one.attack == "uniqueness")
    assert (alone.targets, alone.rate) == (2, 1.0)


def test_what_a_policy_is_unsure_about_keeps_a_table_back(tmp_path: Path):
    sex = ColumnPolicy("sex", ColumnRole.QUASI_IDENTIFIER, unsure=True)
    stated = TablePolicy("people", (ColumnPolicy("name", ColumnRole.IDENTIFIER), sex))
    people = pa.table({"name": PEOPLE["name"], "sex": PEOPLE["sex"]})
    with pytest.raises(RiskNotTolerated, match="unsure about column 'sex'"):
        safe_harbor(people, tmp_path / "out.csv", as_of=2026, policy=Policy({"people": stated}))


def expert_policy(**tolerance: float) -> Policy:
    columns = [ColumnPolicy(f"q{n}", ColumnRole.INSENSITIVE) for n in range(1, 9)]
    known = ColumnPolicy("q0", ColumnRole.QUASI_IDENTIFIER)
    name = ColumnPolicy("name", ColumnRole.IDENTIFIER)
    return Policy({"people": TablePolicy("people", (name, known, *columns), tolerance=tolerance)})


def test_an_expert_reads_who_is_alone_on_what_stays():
    found = determine_source(
        answers(), expert_policy(), choices=ExpertChoices(remove_identifiers=True)
    )
    assert found.holds
    assert "300 people of 300 (100 %) are alone on the columns that stay" in found.verdict
    assert [one.attack for one in found.findings if one.exceeds] == ["uniqueness"]


def test_a_determination_that_holds_does_not_publish_people_alone_on_what_stays(tmp_path: Path):
    place = tmp_path / "out.csv"
    with pytest.raises(RiskNotTolerated, match="uniqueness learns 100 %"):
        determine_source(answers(), expert_policy(), place, choices=ExpertChoices())
    tolerant = expert_policy(uniqueness=1.0)
    assert determine_source(answers(), tolerant, place, choices=ExpertChoices()).output is not None


def visits(people: int = 100, each: int = 8) -> pa.Table:
    """Visits of which none is alone, and of which no two people have the same ones."""
    rows = [(person, visit) for person in range(people) for visit in range(each)]
    return pa.table(
        {
            "patient": [f"Zebulon Quackenbush {person}" for person, _ in rows],
            "ward": [f"w{(person >> visit) & 1}" for person, visit in rows],
            "year": [2000 + visit for _, visit in rows],
        }
    )


def with_pseudonyms(table: pa.Table, *, unit: str | None = None) -> Deidentified:
    choices = PseudonymChoices(
        columns={"patient": KeyedHash()}, key=SecretKey(bytes(range(32))), unit=unit
    )
    return pseudonymize_source(table, choices=choices)


@pytest.mark.parametrize("unit", [None, "patient"])
def test_people_are_alone_on_their_rows_together_which_a_pseudonym_links(unit: str | None):
    found = with_pseudonyms(visits(), unit=unit)
    (alone,) = [one for one in found.findings if one.attack == "uniqueness"]
    assert (alone.targets, alone.rate, alone.exceeds) == (100, 1.0, True)
    assert (
        "100 people of 100 (100 %) are alone on their rows together, which patient" in found.verdict
    )
    assert "would be refused" in found.verdict


def test_people_whose_linked_rows_others_have_too_are_not_alone():
    twice = visits(people=50)
    others = twice.set_column(0, "patient", pc.utf8_upper(twice["patient"]))
    found = with_pseudonyms(pa.concat_tables([twice, others]))
    (alone,) = [one for one in found.findings if one.attack == "uniqueness"]
    assert (alone.rate, alone.exceeds) == (0, False)


def test_rows_of_several_people_with_one_pseudonym_are_not_one_persons():
    table = visits(people=50)
    wards = table.append_column("nurse", pa.array([f"n{n % 4}" for n in range(len(table))]))
    wards = pa.concat_tables(
        [wards, wards.set_column(0, "patient", pc.utf8_upper(wards["patient"]))]
    )
    choices = PseudonymChoices(
        columns={"nurse": KeyedHash()}, key=SecretKey(bytes(range(32))), unit="patient"
    )
    found = pseudonymize_source(wards, choices=choices)
    (alone,) = [one for one in found.findings if one.attack == "uniqueness"]
    assert (alone.targets, alone.rate) == (100, 0)
