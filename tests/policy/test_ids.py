"""The id of a table names its account, and stays what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from discreet.cli.init import command as init
from discreet.errors import InvalidPolicy
from discreet.policy.load import load_policy, parse_policy
from discreet.policy.write import dump_policy, policy_value

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "id: p-1234\ntables:\n  people:\n    id: people-1234\n    columns: {age: sensitive}\n"


def test_ids_are_written_as_they_were_read():
    policy = parse_policy(TEXT)
    assert (policy.id, policy.tables["people"].id) == ("p-1234", "people-1234")
    assert parse_policy(dump_policy(policy)) == policy
    assert policy_value(policy)["id"] == "p-1234"


@pytest.mark.parametrize("written", ["a/2026-05", "a@b12", "t#1x", "a:bcd", "abc", "''", "[]"])
def test_an_id_that_could_be_another_account_is_a_fault(written: str):
    with pytest.raises(InvalidPolicy):
        parse_policy(TEXT.replace("people-1234", written))


def test_two_tables_with_one_id_are_a_fault():
    other = "  more:\n    id: people-1234\n    columns: {age: sensitive}\n"
    with pytest.raises(InvalidPolicy, match="'people', too"):
        parse_policy(TEXT + other)


def test_a_policy_that_is_drafted_again_keeps_its_ids(tmp_path: Path):
    source, target = tmp_path / "people.csv", tmp_path / "policy.yaml"
    source.write_text("age,sex\n1,F\n2,M\n")
    drafts = []
    for _ in range(2):
        done = CliRunner().invoke(init, [str(source), "-o", str(target), "--force"])
        assert done.exit_code == 0, done.output
        drafts.append(load_policy(target))
    assert drafts[0].tables["people"].id == drafts[1].tables["people"].id
    assert drafts[0].id == drafts[1].id
    assert drafts[0].id is not None
    assert "Keep it" in target.read_text()
    target.unlink()
    CliRunner().invoke(init, [str(source), "-o", str(target)])
    assert load_policy(target).tables["people"].id != drafts[0].tables["people"].id
