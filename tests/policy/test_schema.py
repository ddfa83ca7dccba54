"""The JSON Schema that editors get."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest
import yaml
from jsonschema import Draft202012Validator

from discreet.errors import InvalidPolicy
from discreet.policy.json_schema import policy_schema
from discreet.policy.load import parse_policy
from discreet.policy.schema import known_keys

if TYPE_CHECKING:
    from pathlib import Path


def test_the_schema_is_plain_json_of_the_2020_draft() -> None:
    schema = json.loads(json.dumps(policy_schema()))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["required"] == ["tables"]


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(policy_schema())


def test_the_schema_accepts_the_bundled_policy_as_an_editor_reads_it() -> None:
    text = (files("discreet") / "data" / "hospital" / "policy.yaml").read_text("utf-8")
    Draft202012Validator(policy_schema()).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    "hierarchy",
    [
        "{prefix: [3, 1], length: 5}",
        "{intervals: [0.5, 1], origin: -1, bottom: 0, top: 9.5}",
        "{cuts: [0, 18.5, 65]}",
        "{cuts: [[0, 10, 20], [0, 20]], top: 20}",
        "{top: 90}",
        "{bottom: 18, top: 90}",
        "{calendar: [month, year]}",
        "{tree: {low: [01, NO], high: [3, {higher: [4]}], 5: {6: [7]}}}",
        "{file: icd.csv}",
    ],
)
def test_what_the_schema_accepts_the_loader_reads(hierarchy: str, tmp_path: Path) -> None:
    (tmp_path / "icd.csv").write_text("a;*\n")
    text = (
        f"tables: {{t: {{unit: 5, columns: {{c: {{role: sensitive, hierarchy: {hierarchy}}}}}}}}}"
    )
    assert not errors_of(text)
    parse_policy(text, path=tmp_path / "p.yaml")


@pytest.mark.parametrize(
    "column",
    [
        "sensitve",
        "{rol: sensitive}",
        "{role: sensitive, bounds: [1]}",
        "{role: sensitive, bounds: [1, x]}",
        "{role: sensitive, values: []}",
        "{role: sensitive, hierarchy: {}}",
        "{role: sensitive, hierarchy: {prefix: [3], calendar: [year]}}",
        "{role: sensitive, hierarchy: {calendar: [week]}}",
        "{role: sensitive, hierarchy: {tree: {a: x}}}",
        "{role: sensitive, hierarchy: {tree: {a: []}}}",
        "{role: sensitive, references: patients}",
    ],
)
def test_what_the_schema_refuses_the_loader_refuses(column: str) -> None:
    text = f"tables: {{t: {{columns: {{c: {column}}}}}}}"
    assert errors_of(text)
    with pytest.raises(InvalidPolicy):
        parse_policy(text)


def errors_of(text: str) -> list[str]:
    found = Draft202012Validator(policy_schema()).iter_errors(yaml.safe_load(text))
    return [error.message for error in found if "is not of type 'string'" not in error.message]


def test_every_key_has_a_description_for_the_editor() -> None:
    definitions = policy_schema()["$defs"]
    for definition in definitions.values():
        for key, value in definition.get("properties", {}).items():
            target = definitions.get(value.get("$ref", "").rpartition("/")[2], {})
            assert value.get("description") or target.get("description"), key


def test_numbers_are_numbers_to_an_editor() -> None:
    definitions = policy_schema()["$defs"]
    assert definitions["WrittenKAnonymity"]["properties"]["k"]["type"] == "integer"
    assert definitions["WrittenHierarchy"]["properties"]["intervals"]["items"] == {"type": "number"}
    plain, named = definitions["WrittenColumn"]["properties"]["values"]["anyOf"]
    assert "number" in plain["items"]["type"]
    assert set(named["properties"]) == {"public", "drafted"}


def test_no_key_may_be_null() -> None:
    assert "null" not in json.dumps(policy_schema())


def test_the_keys_of_the_bundled_policy_are_known_to_the_schema() -> None:
    text = (files("discreet") / "data" / "hospital" / "policy.yaml").read_text("utf-8")
    for name, table in yaml.safe_load(text)["tables"].items():
        assert set(table) <= set(known_keys(("tables", name)))
        for column, written in table["columns"].items():
            assert set(written) <= set(known_keys(("tables", name, "columns", column)))
        for index, criterion in enumerate(table.get("criteria", [])):
            assert set(criterion) <= set(known_keys(("tables", name, "criteria", index)))


def test_known_keys_follow_the_place() -> None:
    criteria = ("tables", "t", "criteria", 0)
    assert known_keys(()) == ["id", "tables", "budget", "workloads"]
    assert known_keys((*criteria, "t-closeness")) == ["column", "t", "distance", "missing"]
    assert "calendar" in known_keys(("tables", "t", "columns", "c", "hierarchy"))
    assert known_keys(("tables", "t", "columns", "c", "hierarchy", "tree", "x")) == []
