"""`discreet synthesize` and `discreet sample` from the prompt: what is written, what it costs, what is refused."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from discreet.api import synthesize as module
from discreet.release.synthesize.gate import RowCounter
from discreet.release.synthesize.request import SynthesisRequest

POLICY = """\
tables:
  people:
    unit: id
    limits: {rows-per-unit: 1}
    budget: {epsilon: 3, delta: 1e-6}
    tolerance: 100%
    columns:
      id:   {role: identifier, kind: text}
      age:  {role: quasi-identifier, kind: integer, bounds: [0, 99]}
      sex:  {role: quasi-identifier, kind: text, values: [f, m]}
      ill:  {role: sensitive, kind: text, values: [flu, gout, none]}
"""
ROWS = 400


@pytest.fixture
def people(folder: Path) -> Path:
    """A table and its policy in the working folder."""
    chance = np.random.default_rng(5)
    age = chance.integers(18, 90, ROWS)
    lines = [
        f"Q{number * 7919 % 100003:05d},{age[number]},{'fm'[number % 2]},{('flu', 'gout', '')[age[number] // 31]}"
        for number in range(ROWS)
    ]
    (folder / "people.csv").write_text("\n".join(["id,age,sex,ill", *lines]) + "\n")
    (folder / "policy.yaml").write_text(POLICY)
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def arguments(*more: str, source: str = "people.csv") -> tuple[str, ...]:
    return (
        *("synthesize", source, "--policy", "policy.yaml", "--ledger", "ledger.sqlite"),
        *("--method", "fast", *more),
    )


def test_a_table_is_written_with_its_manifest_its_model_and_its_page(people: Path, discreet):
    ran = discreet(
        *arguments("-o", "made.csv", "--model", "model.json", "--report", "page.html"), "--json"
    )
    assert ran.code == 0, ran.err
    rows, source = rows_of(people / "made.csv"), rows_of(people / "people.csv")
    assert list(rows[0]) == ["id", "age", "sex", "ill"]
    assert len(rows) == ran.json["rows"]
    assert {row["sex"] for row in rows} <= {"f", "m", ""}
    assert {row["ill"] for row in rows} <= {"flu", "gout", "none", ""}
    assert all(0 <= int(row["age"]) <= 99 for row in rows if row["age"])
    assert not {row["id"] for row in rows} & {row["id"] for row in source}
    assert ran.json["spent"] == {"epsilon": 1.0, "delta": 1e-9}
    assert ran.json["remaining"]["epsilon"] == 2.0
    page = (people / "page.html").read_text()
    assert "What is promised" in page
    assert "<script" not in page
    manifest = json.loads((people / "made.csv.release.json").read_text())["release"]
    assert manifest["privacy"]["unit"] == "id"
    assert manifest["sha256"] == ran.json["output"]["sha256"]
    assert set(manifest["attacks"]) >= {"closest", "linkability", "membership", "singling-out"}
    assert "findings" not in manifest


def test_the_same_request_gives_the_same_bytes_and_is_free(people: Path, discreet):
    first = discreet(*arguments("-o", "first.csv"), "--json")
    second = discreet(*arguments("-o", "second.csv"), "--json")
    assert (first.code, second.code) == (0, 0), second.err
    assert (people / "first.csv").read_bytes() == (people / "second.csv").read_bytes()
    assert second.json["cached"] is True
    assert second.json["spent"]["epsilon"] == 0.0
    assert second.json["remaining"] == first.json["remaining"]


def test_other_numbers_of_rows_are_free_and_another_epsilon_is_not(people: Path, discreet):
    discreet(*arguments("-o", "first.csv"))
    more = discreet(*arguments("-o", "more.csv", "--rows", "7"), "--json")
    other = discreet(*arguments("-o", "other.csv", "--epsilon", "0.5"), "--json")
    assert (len(rows_of(people / "more.csv")), more.json["spent"]["epsilon"]) == (7, 0.0)
    assert other.json["spent"]["epsilon"] == 0.5


def test_what_was_paid_for_survives_a_crash_before_it_was_written(
    people: Path, discreet, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:

        def crash(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(module, "write_synthetic_rows", crash)
        crashed = discreet(*arguments("-o", "made.csv"))
    assert crashed.code != 0
    assert not (people / "made.csv").exists()
    again = discreet(*arguments("-o", "made.csv"), "--json")
    assert again.code == 0, again.err
    assert again.json["cached"] is True
    assert again.json["remaining"]["epsilon"] == 2.0


def test_a_dry_run_shows_the_price_and_reads_and_spends_nothing(people: Path, discreet):
    before = discreet(*arguments("--dry-run"), "--json")
    (people / "people.csv").write_text("id,age,sex,ill\n")
    after = discreet(*arguments("--dry-run"), "--json")
    assert before.code == 0, before.err
    assert before.json == after.json
    assert before.json["epsilon"] == 1.0
    assert [one["made"] for one in before.json["columns"]][1:] == ["synthesized"] * 3
    assert before.json["remaining"]["epsilon"] == 3.0


def test_more_rows_of_a_model_need_no_source_and_no_budget(people: Path, discreet):
    discreet(*arguments("-o", "made.csv", "--model", "model.json"))
    (people / "people.csv").unlink()
    (people / "ledger.sqlite").unlink()
    ran = discreet("sample", "model.json", "--rows", "25", "-o", "more.csv", "--seed", "4")
    discreet("sample", "model.json", "--rows", "25", "-o", "again.csv", "--seed", "4")
    assert ran.code == 0, ran.err
    assert len(rows_of(people / "more.csv")) == 25
    assert (people / "more.csv").read_bytes() == (people / "again.csv").read_bytes()


@pytest.mark.parametrize("method", ["ctgan", "copula", "GAN", "gaussian_copula"])
def test_a_generator_that_protects_no_one_is_refused_by_its_name(people, discreet, method: str):
    ran = discreet(
        "synthesize", "people.csv", "--policy", "policy.yaml", "--method", method, "-o", "x.csv"
    )
    assert (ran.code, ran.error) == (2, "wrong-usage")
    assert "learns from rows without noise" in ran.err


def test_all_undeclared_columns_are_named_at_once_and_nothing_is_spent(people: Path, discreet):
    text = POLICY.replace(", bounds: [0, 99]", "").replace(", values: [f, m]", "")
    (people / "policy.yaml").write_text(text)
    ran = discreet(*arguments("-o", "made.csv"))
    assert (ran.code, ran.error) == (4, "undeclared-domain")
    assert "age: write `bounds" in ran.err
    assert "sex: write `values" in ran.err
    assert not (people / "made.csv").exists()


def test_a_table_that_costs_more_than_is_left_is_refused(people: Path, discreet):
    ran = discreet(*arguments("-o", "made.csv", "--epsilon", "4"))
    assert (ran.code, ran.error) == (4, "budget-exceeded")
    assert not (people / "made.csv").exists()


@dataclass(frozen=True)
class CopyingModel:
    """A model with a defect: its rows are people."""

    rows: Any

    @property
    def columns(self) -> Any:
        return SimpleNamespace(total=len(self.rows))

    def sample(self, count: int, chance: object) -> Any:
        del count, chance
        return self.rows


def test_a_table_by_a_mechanism_that_copies_people_is_paid_for_and_not_published(
    people: Path, discreet, monkeypatch: pytest.MonkeyPatch
):
    plain = SynthesisRequest.fit

    def copy(self: Any, counter: Any, **options: Any) -> Any:
        is_twin = isinstance(counter, RowCounter)
        return CopyingModel(counter.rows) if is_twin else plain(self, counter, **options)

    monkeypatch.setattr(SynthesisRequest, "fit", copy)
    pairs = np.random.default_rng(8).integers(0, 60, (600, 2))
    lines = [f"{number},{first},{second}" for number, (first, second) in enumerate(pairs)]
    (people / "people.csv").write_text("\n".join(["id,age,pay", *lines]) + "\n")
    text = POLICY[: POLICY.index("      sex:")].replace("    tolerance: 100%\n", "")
    pay = "      pay:  {role: sensitive, kind: integer, bounds: [0, 59]}\n"
    (people / "policy.yaml").write_text(text + pay)
    ran = discreet(*arguments("-o", "made.csv", "--model", "model.json"))
    assert (ran.code, ran.error) == (3, "risk-not-tolerated"), ran.err
    assert "closest" in ran.err
    written = {path.name for path in people.iterdir()}
    assert not written & {"made.csv", "made.csv.release.json", "model.json", "discreet-releases"}
    reason = ("--accept-risk", "for a test of attacks")
    accepted = discreet(*arguments("-o", "made.csv", *reason), "--json")
    assert accepted.code == 0, accepted.err
    assert (accepted.json["cached"], accepted.json["accepted_risk"]) == (True, reason[1])


def test_what_is_there_is_not_replaced_without_being_asked(people: Path, discreet):
    (people / "made.csv").write_text("mine")
    ran = discreet(*arguments("-o", "made.csv"))
    assert (ran.code, ran.error) == (2, "output-refused")
    assert (people / "made.csv").read_text() == "mine"
    assert not (people / "ledger.sqlite").exists()


def test_earlier_releases_of_the_same_people_are_tried_together_with_it(people: Path, discreet):
    earlier = discreet(
        *("anonymize", "people.csv", "--policy", "policy.yaml", "--k", "3", "-o", "classes.csv"),
        *("--accept-risk", "a test"),
    )
    assert earlier.code == 0, earlier.err
    ran = discreet(*arguments("-o", "made.csv"), "--json")
    assert ran.code == 0, ran.err
    composed = [found for found in ran.json["findings"] if found["attack"] == "composition"]
    assert composed
    assert all(found["control"] is not None for found in composed)
    records = [
        json.loads(path.read_text()) for path in (people / "discreet-releases").glob("*.json")
    ]
    kept = next(one for one in records if one["output"].endswith("made.csv"))
    assert kept["release"]["findings"]
    assert (
        "composition"
        in json.loads((people / "made.csv.release.json").read_text())["release"]["attacks"]
    )
