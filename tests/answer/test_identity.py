"""The same data under another name has the same budget."""

from __future__ import annotations

import hashlib
import random
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from bench.verify import budget_identity as verify
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv
from tests.answer.files import NAMES, PEOPLE, WRITERS

from discreet.answer import fingerprint, identity
from discreet.answer.curator import open_curator
from discreet.answer.fingerprint import Sample, take_sample
from discreet.dp.ledger.ledger import Ledger
from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.errors import BudgetExceeded, LedgerFailed, QuestionRefused
from discreet.policy.load import load_policy, parse_policy

KEY = bytes(16)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *, first: int, last: int, name: str = "p") -> str:
    """Write people by number, and return where."""
    rows = range(first, last)
    table = pa.table({"word": [f"{name}{n}" for n in rows], "age": [n * 7 % 90 for n in rows]})
    csv.write_csv(table, path)
    return str(path)


def ask(
    source: Any, policy: str | Path | None = None, *, epsilon: float = 1, **options: Any
) -> Any:
    loaded = parse_policy(policy) if isinstance(policy, str) else policy
    with open_curator(source, loaded, ledger="ledger.db", **options) as curator:
        name = next(iter(curator.catalog.openers))
        return curator.ask(f'SELECT count(*) AS n FROM "{name}"', epsilon=epsilon)


def accounts(answer: Any) -> set[str]:
    return set(answer.remaining["accounts"])


@pytest.mark.parametrize("mode", ["no policy"])
def test_the_same_data_under_another_name_has_no_fresh_budget(mode: str):
    (outcome,) = verify.run(1, modes=(mode,))
    assert outcome.holds, outcome
    assert len(outcome.answered) == 3


def test_the_verification_fails_where_tables_are_not_recognized(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(identity, "SAME_TABLE_SHARE", 2.0)
    monkeypatch.setattr(verify, "_COPIES", {"a copy": verify._copied, "Parquet": verify._parquet})
    (outcome,) = verify.run(1, modes=("no policy",))
    assert not outcome.holds


def test_analysts_with_their_own_database_roles_share_the_budget(postgres_url: str, folder: Path):
    chance = random.Random(1)
    found = verify.postgres_ways(postgres_url, verify.people(chance))
    ways = next(found)
    try:
        for mode in ("no policy", "id"):
            outcome = verify.ask_all(mode, ways, folder / f"{mode}.ledger", chance)
            assert outcome.holds, outcome
    finally:
        next(found, None)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 7))
def test_no_order_of_ways_and_no_mode_spends_more_than_the_budget(seed: int, postgres_url: str):
    for outcome in verify.run(seed, postgres=postgres_url):
        assert outcome.holds, outcome


def test_an_id_names_the_account_and_decides_before_a_row_is_read(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    policy = "tables: {t: {id: people-1234, budget: {epsilon: 2}, unit: row, columns: {word: {role: identifier, kind: text}}}}"
    with open_curator(source, parse_policy(policy), ledger="ledger.db") as curator:
        looked: list[object] = []
        held = curator.catalog.find("t")
        held.table.engine.stream = looked.append
        plan, text = curator.plan("SELECT count(*) FROM t", epsilon=1)
        result = curator.explain_plan(plan, text)
    assert set(result.remaining["accounts"]) == {"table:people-1234"}
    assert not looked
    assert accounts(ask(source, policy)) == {"table:people-1234"}
    other = write(folder / "others.csv", first=900, last=950)
    assert accounts(ask(other, policy)) == {"table:people-1234"}


def test_explain_reads_no_row_and_says_that_the_account_is_found_when_asking(folder: Path):
    ask(write(folder / "people.csv", first=0, last=50))
    copy = write(folder / "copy.csv", first=0, last=50)
    for head in ("", "id: copy-1234,"):
        said = parse_policy(people(head))
        with open_curator(copy, said, table="people", ledger="ledger.db") as curator:
            curator.catalog.find("people").table.engine.stream = None
            plan, text = curator.plan("SELECT count(*) FROM people", epsilon=1)
            result = curator.explain_plan(plan, text)
        assert any("only then rows are read" in caution for caution in result.cautions)
    assert any("people.csv" in caution for caution in ask(copy).cautions)
    with open_curator(copy, ledger="ledger.db") as curator:
        plan, text = curator.plan("SELECT count(*) FROM copy", epsilon=1)
        result = curator.explain_plan(plan, text)
    assert result.remaining["epsilon"] == 8
    assert any("people.csv" in caution for caution in result.cautions)


def test_a_file_that_was_not_written_since_is_not_read_again(folder: Path, monkeypatch):
    source = write(folder / "people.csv", first=0, last=50)
    first = accounts(ask(source))
    monkeypatch.setattr(identity, "take_sample", None)
    assert accounts(ask(source, epsilon=0.5)) == first


def test_other_people_have_a_budget_of_their_own(folder: Path):
    one = ask(write(folder / "people.csv", first=0, last=50))
    two = ask(write(folder / "others.csv", first=500, last=550))
    assert not accounts(one) & accounts(two)
    assert not [caution for caution in two.cautions if "people.csv" in caution]


def test_what_overlaps_two_tables_is_charged_to_both_and_so_is_the_rest_of_it(folder: Path):
    one = accounts(ask(write(folder / "one.csv", first=0, last=50)))
    two = accounts(ask(write(folder / "two.csv", first=100, last=150)))
    both = accounts(ask(write(folder / "both.csv", first=0, last=200)))
    rest = accounts(ask(write(folder / "rest.csv", first=150, last=200)))
    assert both == rest == one | two


def test_two_who_ask_first_at_once_get_one_account(folder: Path, monkeypatch):
    sources = [write(folder / f"{name}.csv", first=0, last=50) for name in ("a", "b")]
    Ledger("ledger.db").secret()
    both, taken = threading.Barrier(2, timeout=60), threading.local()

    def sampled(*arguments: Any, **options: Any) -> Any:
        found = take_sample(*arguments, **options)
        if not getattr(taken, "once", False):
            taken.once = True
            both.wait()
        return found

    monkeypatch.setattr(identity, "take_sample", sampled)
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(ask, sources)
    assert accounts(one) == accounts(two)
    (left,) = Ledger("ledger.db").remaining(Ledger("ledger.db").accounts())
    assert left.epsilon.spent == 2


def test_dropping_the_policy_does_not_drop_its_budget(folder: Path):
    policy = "tables: {people: {id: people-1234, budget: {epsilon: 1}, unit: row, columns: {word: {role: identifier, kind: text}}}}"
    source = write(folder / "people.csv", first=0, last=50)
    ask(source, policy)
    with pytest.raises(BudgetExceeded):
        ask(source, epsilon=0.5)
    with pytest.raises(BudgetExceeded):
        ask(write(folder / "copy.csv", first=0, last=50), epsilon=0.5)


def people(head: str, tail: str = "") -> str:
    columns = "age: {role: sensitive, kind: integer, bounds: [0, 90]}"
    return f"{tail}tables: {{people: {{{head} unit: row, columns: {{{columns}}}}}}}"


@pytest.mark.parametrize(
    "other",
    [
        people("budget: {epsilon: 100},"),
        people("budget: {epsilon: 1, per: day},"),
        people("budget: {epsilon: 100, analysts: {'*': {epsilon: 100}}},"),
        people("budget: {epsilon: 100}, partitions: {age: value},"),
        people("", "budget: {epsilon: 9}\n"),
        people("", "id: all-1234\nbudget: {epsilon: 9, per: day}\n"),
        people("id: other-1234, budget: {epsilon: 100},"),
    ],
)
@pytest.mark.parametrize("own", ["{epsilon: 1}", "{epsilon: 10, delta: 1e-5}"])
def test_a_budget_declared_under_an_id_is_changed_by_that_id_only(
    folder: Path, other: str, own: str
):
    source = write(folder / "people.csv", first=0, last=50)
    ask(source, people(f"id: people-1234, budget: {own},"), epsilon=1 if ": 1}" in own else 10)
    copy = write(folder / "copy.csv", first=0, last=50)
    for place in (source, copy):
        with pytest.raises(BudgetExceeded, match="people-1234"):
            ask(place, other, epsilon=0.5, table="people")
        with pytest.raises(BudgetExceeded, match="people-1234"):
            ask(place, epsilon=0.5)
    ask(source, people("id: people-1234, budget: {epsilon: 11},"), epsilon=0.5)


def test_what_another_policy_divides_into_parts_is_paid_in_full(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    ask(source, people("id: people-1234, budget: {epsilon: 3},"))
    loaded = parse_policy(people("budget: {epsilon: 9}, partitions: {age: value},"))
    with open_curator(source, loaded, ledger="ledger.db") as curator:
        question = "SELECT count(*) AS n FROM people WHERE age = %d"
        curator.ask(question % 7, epsilon=1)
        answer = curator.ask(question % 14, epsilon=1)
        assert any("under the table's id" in one for one in answer.cautions)
        with pytest.raises(BudgetExceeded, match="people-1234"):
            curator.ask(question % 21, epsilon=1)


@pytest.mark.parametrize(
    "other", [None, people("budget: {epsilon: 9, analysts: {'*': {epsilon: 9}}},")]
)
def test_the_budget_of_an_analyst_cannot_be_left_by_dropping_the_policy(
    folder: Path, other: str | None
):
    source = write(folder / "people.csv", first=0, last=50)
    ask(source, people("id: people-1234, budget: {epsilon: 9, analysts: {'*': {epsilon: 1}}},"))
    with pytest.raises(QuestionRefused, match="Ask with that policy"):
        ask(source, other, analyst="a@b.c")


@pytest.mark.parametrize(("first", "last"), [(0, 50), (0, 30), (0, 400)])
def test_another_id_has_no_fresh_budget_for_a_copy_a_part_or_more_people(
    folder: Path, first: int, last: int
):
    original = people("id: people-1234, budget: {epsilon: 1},")
    other = people("id: other-1234, budget: {epsilon: 100},")
    ask(write(folder / "people.csv", first=0, last=50), original, epsilon=0.5)
    copy = write(folder / "copy.csv", first=first, last=last)
    answer = ask(copy, other, epsilon=0.25, table="people")
    assert accounts(answer) == {"table:people-1234", "table:other-1234"}
    assert answer.remaining["epsilon"] == 0.25
    assert any("people.csv" in caution for caution in answer.cautions)
    with pytest.raises(BudgetExceeded, match="people-1234"):
        ask(copy, other, epsilon=0.5, table="people")


def test_an_id_that_never_paid_changes_nothing_for_others(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    original = people("id: people-1234, budget: {epsilon: 1},")
    ask(source, original, epsilon=0.5)
    for made_up in ("{epsilon: 0.001}", "{epsilon: 0.001, per: day}"):
        with pytest.raises(BudgetExceeded):
            ask(source, people(f"id: made-up-1, budget: {made_up},"), epsilon=0.3)
    assert ask(source, original, epsilon=0.25).remaining["epsilon"] == 0.25
    assert ask(source, epsilon=0.125).remaining["epsilon"] == 0.125


def test_another_id_leaves_no_budget_of_a_period(folder: Path):
    ask(
        write(folder / "people.csv", first=0, last=50),
        people("id: people-1234, budget: {epsilon: 1, per: month},"),
    )
    copy = write(folder / "copy.csv", first=0, last=50)
    for other in (None, people("id: other-1234, budget: {epsilon: 9},")):
        with pytest.raises(QuestionRefused, match=r"Ask with that policy.*distinct-from"):
            ask(copy, other, **({"table": "people"} if other else {}))


def test_tables_that_look_alike_are_apart_where_the_policy_states_it(folder: Path):
    ask(
        write(folder / "one.csv", first=0, last=50),
        people("id: one-1234, budget: {epsilon: 1},"),
        table="people",
    )
    alike = write(folder / "two.csv", first=0, last=50)
    apart = people("id: two-1234, distinct-from: [one-1234], budget: {epsilon: 3},")
    answer = ask(alike, apart, epsilon=2, table="people")
    assert accounts(answer) == {"table:two-1234"}
    assert any("distinct-from" in caution for caution in answer.cautions)
    with pytest.raises(BudgetExceeded, match="one-1234"):
        ask(alike, apart.replace("distinct-from: [one-1234], ", ""), epsilon=1, table="people")


def test_a_frame_of_pandas_is_recognized_by_columns_that_its_policy_leaves_out(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    frame = csv.read_csv(source).to_pandas()
    ask(frame, people("id: people-1234, budget: {epsilon: 1},"), table="people")
    for other in (source, frame):
        with pytest.raises(BudgetExceeded, match="people-1234"):
            ask(other, epsilon=0.5)


def test_a_budget_of_a_period_cannot_be_left_by_dropping_the_policy(folder: Path):
    policy = "tables: {people: {id: people-1234, budget: {epsilon: 1, per: month}, unit: row, columns: {word: {role: identifier, kind: text}}}}"
    ask(write(folder / "people.csv", first=0, last=50), policy)
    with pytest.raises(QuestionRefused, match="Ask with that policy"):
        ask(write(folder / "copy.csv", first=0, last=50))


def test_another_id_for_the_same_file_does_not_forget_what_was_spent(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    policy = "tables: {people: {id: people-%s, budget: {epsilon: 1}, unit: row, columns: {word: {role: identifier, kind: text}}}}"
    ask(source, policy % "1111")
    with pytest.raises(BudgetExceeded, match="people-1111"):
        ask(source, policy % "2222", epsilon=0.5)


@pytest.mark.parametrize(("head", "is_by_id"), [("id: all-1234\n", True), ("", False)])
def test_a_copied_policy_has_the_budget_of_the_first(folder: Path, head: str, is_by_id: bool):
    source = write(folder / "people.csv", first=0, last=50)
    text = f"{head}budget: {{epsilon: 1}}\ntables: {{people: {{unit: row, columns: {{word: {{role: identifier, kind: text}}}}}}}}\n"
    (folder / "one.yaml").write_text(text)
    (folder / "two.yaml").write_text(text)
    found = accounts(ask(source, load_policy(folder / "one.yaml")))
    assert ("policy:all-1234" in found) is is_by_id
    with pytest.raises(BudgetExceeded):
        ask(source, load_policy(folder / "two.yaml"), epsilon=0.5)


def test_a_ledger_without_its_key_recognizes_nothing_and_answers_nothing(folder: Path):
    source = write(folder / "people.csv", first=0, last=50)
    ask(source)
    key = Path("ledger.db.key")
    assert key.stat().st_mode & 0o777 == 0o600
    secret = key.read_bytes()
    assert secret not in Path("ledger.db").read_bytes()
    assert secret.hex().encode() not in Path("ledger.db").read_bytes()
    key.write_bytes(bytes(32))
    with pytest.raises(LedgerFailed, match="another ledger's"):
        ask(source)
    key.unlink()
    with pytest.raises(LedgerFailed, match="is missing"):
        ask(source)


def test_the_ledger_finds_that_a_known_table_was_changed(folder: Path):
    ask(write(folder / "people.csv", first=0, last=50))
    Ledger("ledger.db").verify()
    with sqlite3.connect("ledger.db") as raw:
        raw.execute("UPDATE discreet_source SET sketch = x'01'")
    with pytest.raises(LedgerFailed, match="asked about"):
        Ledger("ledger.db").verify()


def test_a_ledger_of_the_first_format_is_used_on(folder: Path):
    Ledger("ledger.db").close()
    with sqlite3.connect("ledger.db") as raw:
        for table in ("source", "sighting", "secret"):
            raw.execute(f"DROP TABLE discreet_{table}")
        raw.execute("UPDATE discreet_ledger SET format = 1")
        raw.execute("PRAGMA user_version = 1")
    ask(write(folder / "people.csv", first=0, last=50))
    # The key, a draft of the columns for the rows and for the place, the table, where it is, a limit,
    # a charge and an answer.
    assert Ledger("ledger.db").verify() == 8


CELLS = [
    ("12", pa.array([12]), pa.array([12.0])),
    ("0.1", pa.array([0.1]), pa.array(["0.1"])),
    ("12.345", pa.array(["12.345 "]), pa.array([12.345])),
    ("01234", pa.array(["01234"]), pa.array([1234])),
    ("x", pa.array(["X "]), pa.array(["x"])),
    ("true", pa.array([True]), pa.array(["true"])),
    ("day", pa.array(["2020-01-31"]), pa.array(["2020-01-31"]).cast(pa.date32())),
    ("midnight", pa.array(["2020-01-31T00:00:00"]), pa.array(["2020-01-31"]).cast(pa.date32())),
    ("null", pa.array([None], pa.string()), pa.array([None], pa.int64())),
    ("far", pa.array([10**25], pa.decimal128(38)), pa.array([str(10**25)])),
    ("far decimal", pa.array([Decimal("1e20")], pa.decimal128(38, 2)), pa.array(["1e+20"])),
    ("exponent", pa.array([1.5e-7]), pa.array(["1.5e-07"])),
    ("long", pa.array([0.1 + 0.2]), pa.array(["0.30000000000000004"])),
    ("far real", pa.array([1e300]), pa.array(["1e+300"])),
    ("day first", pa.array(["31/12/1999"]), pa.array(["1999-12-31"]).cast(pa.date32())),
    ("minutes", pa.array(["2020-01-31 10:20"]), pa.array(["2020-01-31T10:20:00.5"])),
    ("not a number", pa.array([float("nan")]), pa.array(["NaN"])),
]


@pytest.mark.parametrize("cells", CELLS, ids=[cells[0] for cells in CELLS])
def test_a_cell_is_the_same_in_every_format(cells: tuple[str, Any, Any]):
    first, second = (open_table(pa.table({"c": one})) for one in cells[1:])
    mine, _ = take_sample(first, [], key=KEY)
    assert take_sample(second, [mine], key=KEY)[1] == [1.0]


def test_samples_of_large_tables_reveal_what_they_share(monkeypatch: pytest.MonkeyPatch):
    """8,192 hashes of 60,000: shares are estimated within a few percent (6 standard errors)."""
    whole = open_table(pa.table({"n": range(60_000)}))
    third = open_table(pa.table({"n": range(20_000)}))
    apart = open_table(pa.table({"n": range(10**6, 10**6 + 60_000)}))
    partly = open_table(pa.table({"n": range(30_000, 90_000)}))
    mine, _ = take_sample(whole, [], key=KEY)
    assert not mine.is_whole
    assert mine.size == pytest.approx(60_000, rel=0.07)
    assert take_sample(third, [mine], key=KEY)[1] == [1.0]
    assert take_sample(apart, [mine], key=KEY)[1] == [0.0]
    assert take_sample(partly, [mine], key=KEY)[1][0] == pytest.approx(0.5, abs=0.05)
    assert take_sample(whole, [], key=bytes(15) + b"1")[0].hashes[0] != mine.hashes[0]
    assert (Sample.unpack(mine.pack()).hashes == mine.hashes).all()


def test_rows_have_the_same_hashes_on_every_engine(any_engine: Any):
    numbers = [12.0, -0.5, 1e300, None, 0.1 + 0.2]
    rows = pa.table(
        {
            "whole": [1, -2, 2**62, None, 0],
            "real": numbers,
            "money": pa.array([Decimal("1.50"), None, Decimal(-3), Decimal("0.01"), Decimal(7)]),
            "text": ["Ä b ", "007", "", None, "3.1400"],
            "flag": [True, False, None, True, False],
            "day": pa.array([0, 1, None, 20_000, -400]).cast(pa.int32()).cast(pa.date32()),
            "time": pa.array([0, 86_400 * 10**6, 10**15 + 7, None, 5], pa.timestamp("us")),
            # More than PostgreSQL's functions take arguments.
            **{f"c{place}": [place, None, 1, 2, 3] for place in range(100)},
        }
    )
    home = open_table(rows)
    known, _ = take_sample(home, [], key=KEY)
    relation = any_engine.load(rows.to_reader())
    there = Table(any_engine, relation, any_engine.columns(relation), "there")
    assert take_sample(there, [known], key=KEY)[1] == [1.0]


FORMS = ("_NUMBER", "_COMMA_NUMBER", "_FAR_NUMBER", "_ISO_DAY", "_LOCAL_DAY", "_MINUTES")


def test_a_hash_is_that_which_ledgers_have_known_since_the_first_release():
    """Of key and marked cells; so what was recognized before is recognized after each change of the query."""
    rows = {"b": ["X ", "2024-03-01", "1,50", ""], "a": [7, 12, None, 3]}
    cells = [["x", "7"], ["2024-01-03", "12"], ["1500m"], ["3"]]
    found, _ = take_sample(open_table(pa.table(rows)), [], key=KEY)
    joined = [KEY.hex() + "".join(f"\x1f{cell}" for cell in one) for one in cells]
    turned = [KEY.hex() + "".join(f"\x1f{cell}" for cell in one[::-1]) for one in cells]
    hashes = {int(hashlib.md5(one.encode()).hexdigest()[:16], 16) for one in (*joined, *turned)}
    assert set(found.hashes.tolist()) == hashes


@pytest.mark.parametrize(
    "pattern", [value for name, value in vars(fingerprint).items() if name in FORMS]
)
@given(text=st.data())
@settings(max_examples=50, deadline=None)
def test_every_form_of_a_text_begins_as_the_first_pattern_says(pattern: str, text: st.DataObject):
    drawn = text.draw(st.from_regex(re.compile("^" + pattern, re.ASCII)))
    assert re.match(fingerprint._BEGINS_FORM, drawn)


ALL_KINDS = ("integer", "number", "text", "boolean", "date", "timestamp", "time")


@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("ending", [*WRITERS, "pandas", "gz", "duckdb"])
def test_a_copy_is_recognized_whatever_kinds_are_declared(folder: Path, ending: str, kind: str):
    """Cells that do not fit a kind are missing for questions, and not for what recognizes rows."""
    if ending in ("pandas", "gz", "duckdb"):
        source: Any = "people.csv"
        WRITERS["csv"](folder / source, PEOPLE)
        if ending == "pandas":
            source = csv.read_csv(source).to_pandas()
        elif ending == "gz":
            source = str(verify._packed(folder, None, random.Random(1)))
        else:
            source = str(verify._database(folder, csv.read_csv(source), random.Random(1)))
    else:
        source = f"people.{ending}"
        WRITERS[ending](folder / source, PEOPLE)
    columns = ", ".join(f"{name}: {{role: sensitive, kind: {kind}}}" for name in NAMES)
    policy = f"tables: {{people: {{unit: row, columns: {{{columns}}}}}}}"
    WRITERS["csv"](folder / "first.csv", PEOPLE)
    first = accounts(ask("first.csv", policy.replace(f"kind: {kind}", "kind: text")))
    named = {} if ending == "xlsx" else {"table": "people"}
    assert accounts(ask(source, policy, **named)) == first


def test_a_part_of_the_people_that_pandas_writes_with_its_index_is_the_same_table(
    folder: Path,
) -> None:
    people = pd.DataFrame({"age": range(200), "wage": range(1000, 1200)})
    people.to_csv(folder / "people.csv", index=False)
    people.sample(frac=0.5, random_state=1).to_parquet(folder / "part.parquet")
    whole, part = (accounts(ask(folder / name)) for name in ("people.csv", "part.parquet"))
    assert part == whole


def write_twice(people: pd.DataFrame, path: Path) -> None:
    people.to_csv(path)
    pd.read_csv(path).to_csv(path)


@pytest.mark.parametrize(
    "write",
    [
        pd.DataFrame.to_csv,
        write_twice,
        lambda people, path: people.to_csv(path, sep=";", decimal=",", index=False),
        lambda people, path: people.to_csv(path, sep=";", decimal=","),
    ],
    ids=["index", "index twice", "comma", "index and comma"],
)
def test_a_part_of_the_people_as_pandas_writes_it_is_the_same_table(folder: Path, write) -> None:
    people = pd.DataFrame({"age": range(200), "wage": [1000 + n / 8 for n in range(200)]})
    people.to_csv(folder / "people.csv", index=False)
    write(people.sample(frac=0.5, random_state=1), folder / "part.csv")
    whole, part = (accounts(ask(folder / name)) for name in ("people.csv", "part.csv"))
    assert part == whole


def test_columns_that_are_all_without_a_name_distinguish_tables(folder: Path) -> None:
    for name, start in (("one.csv", 0), ("other.csv", 1000)):
        rows = "".join(f"{n},{n * 2}\n" for n in range(start, start + 200))
        (folder / name).write_text("column1,column2\n" + rows)
    one, other = (accounts(ask(folder / name)) for name in ("one.csv", "other.csv"))
    assert one != other


FOREIGN = """
tables:
  people:
    id: 0b7c
    unit: row
    reading: {{delimiter: ";", encoding: {encoding}, skip: {skip}}}
    columns:
      age: {{role: quasi-identifier, kind: integer, bounds: [0, 120]}}
      town: {{role: quasi-identifier, kind: text}}
"""


@pytest.mark.parametrize(("encoding", "title"), [("cp1252", ""), ("utf-8", "Report of May\r\n")])
@pytest.mark.parametrize("first", ["with policy", "without policy"])
def test_a_file_read_by_its_policy_and_as_recognized_has_one_budget(
    folder: Path, encoding: str, title: str, first: str
) -> None:
    """Another encoding, or another line as the header, makes other cells of the same rows."""
    text = title + "age;town\r\n" + "".join(f"{20 + n % 50};Köln {n}\r\n" for n in range(200))
    for name in ("people.csv", "copy.csv"):
        (folder / name).write_bytes(text.encode(encoding))
    policy = FOREIGN.format(encoding=encoding, skip=int(bool(title)))
    if first == "with policy":
        declared, recognized = ask("people.csv", policy), ask("copy.csv")
    else:
        recognized, declared = ask("copy.csv"), ask("people.csv", policy)
    assert accounts(declared) & accounts(recognized)


def test_what_was_asked_about_at_a_place_is_charged_however_it_is_read_later(folder: Path) -> None:
    lines = "".join(f"{20 + n % 50};Köln {n}\r\n" for n in range(200))
    (folder / "people.csv").write_bytes(f"age;town\r\n{lines}".encode("cp1252"))
    recognized = ask("people.csv", encoding="cp437")
    declared = ask("people.csv", FOREIGN.format(encoding="cp1252", skip=0))
    assert accounts(declared) > accounts(recognized)
