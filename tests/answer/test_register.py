"""Ranks written once: every person's rows are numbered by chance, and only the first of them count."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.answer.curators import without_noise

import discreet
from discreet.answer.register import RANK, register_table
from discreet.errors import InvalidQuestion, OutputRefused, UnknownColumn, WrongUsage
from discreet.policy.load import load_policy

POLICY = """
tables:
  visits:
    unit: who
    budget: {epsilon: 1000, delta: 1e-3}
    limits: {rows-per-unit: 2}
    columns:
      who: {role: identifier}
      doctor: {role: identifier}
      ward: {role: quasi-identifier, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 100]}
"""
WHO = ["p"] * 9 + ["q"] * 2 + ["r"] + [None] * 3
VISITS = pa.table(
    {
        "who": WHO,
        "doctor": [f"d{n}" for n in range(len(WHO))],
        "ward": ["a", "b", "a"] * 5,
        "cost": [float(n) for n in range(len(WHO))],
    }
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pq.write_table(VISITS, "visits.parquet")
    Path("policy.yaml").write_text(POLICY, "utf-8")
    return tmp_path


def registered(**options) -> Path:
    register_table(
        "visits.parquet", load_policy(Path("policy.yaml")), output="r.parquet", **options
    )
    return Path("r.parquet")


def open_copy():
    return discreet.open("r.parquet", "policy.yaml", table="visits", ledger="ledger.sqlite")


def ranks_of(person: str) -> list[int]:
    table = pq.read_table("r.parquet").to_pylist()
    return [row[RANK] for row in table if row["who"] == person]


@pytest.mark.usefixtures("folder")
def test_the_rows_of_each_person_are_numbered_and_nothing_else_changes():
    made = register_table("visits.parquet", load_policy(Path("policy.yaml")), output="r.parquet")
    assert (made.rows, made.unit, made.table) == (len(WHO), "who", "visits")
    assert sorted(ranks_of("p")) == list(range(1, 10))
    assert sorted(ranks_of("q")) == [1, 2]
    copied = pq.read_table("r.parquet").drop_columns([RANK])
    assert Counter(map(str, copied.to_pylist())) == Counter(map(str, VISITS.to_pylist()))


@pytest.mark.usefixtures("folder")
@pytest.mark.statistics
def test_the_order_is_drawn_anew_and_does_not_follow_the_rows():
    """20 orders of 9 rows: that two are equal has a chance below 1e-3, that all are, of 1e-105."""
    policy = load_policy(Path("policy.yaml"))
    orders, firsts = set(), defaultdict(int)
    for _ in range(20):
        register_table("visits.parquet", policy, output="r.parquet", force=True)
        rows = [row for row in pq.read_table("r.parquet").to_pylist() if row["who"] == "p"]
        orders.add(tuple(row["doctor"] for row in sorted(rows, key=lambda row: row[RANK])))
        firsts[next(row["doctor"] for row in rows if row[RANK] == 1)] += 1
    assert len(orders) > 1
    assert len(firsts) > 1


@pytest.mark.usefixtures("folder")
def test_only_the_first_rows_of_a_person_count(monkeypatch: pytest.MonkeyPatch):
    without_noise(monkeypatch)
    registered()
    with open_copy() as curator:
        plan, _ = curator.plan("SELECT count(*) FROM visits", epsilon=1)
        assert plan.private_queries[0].limit.method == "rank"
        # Two of p, two of q, one of r; rows that are no one's do not count.
        assert curator.ask("SELECT count(*) FROM visits", epsilon=1).rows == [[5]]
        assert curator.ask("SELECT count(DISTINCT who) FROM visits", epsilon=1).rows == [[3]]
        result = curator.ask("SELECT count(*) FROM visits WHERE who = 'p'", epsilon=1)
        assert result.rows == [[2]]
        assert any("chosen by chance" in caution for caution in result.cautions)


@pytest.mark.usefixtures("folder")
def test_the_rank_cannot_be_named_or_listed():
    registered()
    with open_copy() as curator:
        for text in (
            f"SELECT count(*) FROM visits WHERE {RANK} = 1",
            f"SELECT count({RANK}) FROM (SELECT * FROM visits) v",
            f"SELECT avg({RANK}) FROM (SELECT who, cost FROM visits) v",
        ):
            with pytest.raises(InvalidQuestion, match="no column"):
                curator.ask(text, epsilon=1)


@pytest.mark.usefixtures("folder")
def test_what_joins_people_with_people_is_bounded_anew():
    registered()
    with open_copy() as curator:
        text = "SELECT count(*) FROM visits a JOIN visits b ON a.who = b.who"
        plan, _ = curator.plan(text, epsilon=1)
        assert plan.private_queries[0].limit.method == "rescale"
        text = "SELECT count(*) FROM (SELECT who FROM visits UNION ALL SELECT who FROM visits) u"
        plan, _ = curator.plan(text, epsilon=1)
        assert plan.private_queries[0].limit.method == "rescale"


@pytest.mark.usefixtures("folder")
def test_ranks_of_another_unit_bound_nothing():
    """By doctor, every row is the first of its person, so that the ranks would let all rows count."""
    Path("policy.yaml").write_text(POLICY.replace("unit: who", "unit: doctor"), "utf-8")
    registered()
    Path("policy.yaml").write_text(POLICY, "utf-8")
    with open_copy() as curator:
        plan, _ = curator.plan("SELECT count(*) FROM visits", epsilon=1)
        assert plan.private_queries[0].limit.method == "rescale"


@pytest.mark.usefixtures("folder")
def test_ranks_of_a_file_that_was_written_since_bound_nothing():
    registered()
    other = VISITS.append_column(RANK, pa.array([1] * len(WHO), pa.int32()))
    pq.write_table(other, "r.parquet")
    with open_copy() as curator:
        plan, _ = curator.plan("SELECT count(*) FROM visits", epsilon=1)
        assert plan.private_queries[0].limit.method == "rescale"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"rank": 3}'])
def test_a_broken_note_is_no_note(text: str):
    registered()
    Path("r.parquet.registered.json").write_text(text, "utf-8")
    with open_copy() as curator:
        plan, _ = curator.plan("SELECT count(*) FROM visits", epsilon=1)
        assert plan.private_queries[0].limit.method == "rescale"


@pytest.mark.usefixtures("folder")
def test_a_copy_shares_the_budget_of_its_source():
    registered()
    with open_copy() as curator:
        curator.ask("SELECT count(*) FROM visits", epsilon=3)
    with discreet.open("visits.parquet", "policy.yaml", ledger="ledger.sqlite") as curator:
        result = curator.ask("SELECT sum(cost) FROM visits", epsilon=4)
    assert result.remaining["epsilon"] == 993


@pytest.mark.usefixtures("folder")
def test_the_key_of_the_order_is_kept_nowhere():
    registered()
    result = json.loads(Path("r.parquet.registered.json").read_text("utf-8"))
    assert set(result) == {"rank", "table", "unit", "size"}


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_registered_leaves_nothing_behind():
    policy = load_policy(Path("policy.yaml"))
    before = sorted(Path().iterdir())
    with pytest.raises(WrongUsage, match="Parquet"):
        register_table("visits.parquet", policy, output="r.csv")
    with pytest.raises(OutputRefused):
        register_table("visits.parquet", policy, output="visits.parquet")
    Path("policy.yaml").write_text(POLICY.replace("unit: who", "unit: whom"), "utf-8")
    with pytest.raises(UnknownColumn, match="whom"):
        register_table("visits.parquet", load_policy(Path("policy.yaml")), output="r.parquet")
    Path("policy.yaml").write_text(
        POLICY.replace("    unit: who\n", "").replace("    limits: {rows-per-unit: 2}\n", ""),
        "utf-8",
    )
    with pytest.raises(WrongUsage, match="no unit"):
        register_table("visits.parquet", load_policy(Path("policy.yaml")), output="r.parquet")
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_a_registered_copy_can_be_registered_again(monkeypatch: pytest.MonkeyPatch):
    registered()
    policy = load_policy(Path("policy.yaml"))
    register_table("r.parquet", policy, output="again.parquet", table="visits")
    names = pq.read_schema("again.parquet").names
    assert names.count(RANK) == 1
