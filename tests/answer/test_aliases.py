"""A name that the SELECT gives is no column of the table, whether or not the policy knows all of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import discreet
from discreet.errors import UndeclaredKind
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from pathlib import Path

POLICY = parse_policy(
    "tables: {t: {unit: row, columns: {sex: {role: sensitive, kind: text, values: [f, m]}}}}"
)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("sex,age\nf,1\nm,2\n")
    return path


@pytest.mark.parametrize(
    "question",
    [
        "SELECT sex, count(*) AS people FROM t GROUP BY sex ORDER BY people DESC",
        "SELECT sex, count(*) AS people FROM t GROUP BY sex HAVING people > 5",
        "SELECT sex = 'f' AS woman, count(*) FROM t GROUP BY woman",
    ],
)
def test_an_alias_needs_no_kind_in_the_policy(source: Path, question: str) -> None:
    with discreet.open(source, POLICY, ledger=":memory:") as curator:
        plan, _ = curator.plan(question, epsilon=1)
    assert plan.private_queries[0].domain is not None


def test_a_column_without_a_kind_is_refused_all_the_same(source: Path) -> None:
    with (
        discreet.open(source, POLICY, ledger=":memory:") as curator,
        pytest.raises(UndeclaredKind),
    ):
        curator.plan("SELECT sex, count(*) AS n FROM t GROUP BY sex ORDER BY age", epsilon=1)
