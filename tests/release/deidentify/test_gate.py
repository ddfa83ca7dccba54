"""What de-identification made is attacked before it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import RiskNotTolerated
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices
from discreet.release.deidentify.deidentify import pseudonymize_source, safe_harbor
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import KeyedHash

if TYPE_CHECKING:
    from pathlib import Path

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
    return Policy({"people": replace(TABLE, tolerance={"linkage": tolerance})})


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


def test_a_dry_run_reports_what_would_be_kept_back():
    found = safe_harbor(PEOPLE, as_of=2026, policy=policy(0.1))
    assert [one.attack for one in found.findings if one.exceeds] == ["linkage"]


def test_keyed_pseudonyms_are_not_undone(tmp_path: Path):
    choices = PseudonymChoices(columns={"name": KeyedHash()}, key=SecretKey(bytes(range(32))))
    found = pseudonymize_source(PEOPLE, tmp_path / "out.csv", choices=choices)
    undone = [one for one in found.findings if one.attack == "dictionary"]
    assert undone
    assert all(one.rate == 0 for one in undone)
