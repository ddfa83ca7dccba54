"""How the cells of a file are written is public: one person's cell changes no plan, refusal, schema or price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.answer.curators import without_noise
from tests.answer.unpaid import shown_before_paying

import discreet
from discreet.answer.schemas import PinnedSchema, read_pinned
from discreet.engines.connect import open_table
from discreet.engines.declared_schema import correct_schema, declared_file
from discreet.engines.engine import DeclaredSchema
from discreet.policy.load import parse_policy
from discreet.sql import build

POLICY = """
tables:
  people:
    unit: row
    budget: {epsilon: 1000, delta: 1e-3}
    reading: {delimiter: ";", encoding: cp1252, skip: 1, decimal: ",", thousands: ".", missing: [N/A, "-"]}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120], missing: ["999"]}
      sex: {role: quasi-identifier, kind: text, labels: {1: male, 2: female}, values: [male, female]}
      born: {role: quasi-identifier, kind: date, format: ["%d.%m.%Y", "%d/%m/%y"], since: 1930}
      seen: {role: quasi-identifier, kind: timestamp, format: "%d.%m.%Y %H:%M"}
      pay: {role: sensitive, kind: number, bounds: [0, 20000], sign: "€"}
      town: {role: quasi-identifier, kind: text, missing: []}
"""
DECLARED = declared_file(parse_policy(POLICY).tables["people"])
NAMES = tuple(DECLARED.columns)
PEOPLE = [
    {
        "age": str(20 + number),
        "sex": "12"[number % 2],
        "born": f"{1 + number:02}.05.1990",
        "seen": f"{1 + number:02}.05.2024 10:30",
        "pay": f"{1 + number}.250,50 €",
        "town": "Köln",
    }
    for number in range(9)
]
QUESTIONS = (
    "SELECT count(*) AS n FROM people",
    "SELECT sum(age) AS s, avg(pay) AS m FROM people",
    "SELECT sex, count(*) AS n FROM people WHERE born > DATE '1990-01-05' GROUP BY sex",
    "SELECT town, count(*) AS n FROM people GROUP BY town",
    "SELECT median(pay) AS m FROM people",
    "SELECT count(*) AS n FROM people WHERE seen > TIMESTAMP '2024-05-03'",
    "SELECT sum(town) AS s FROM people",
)
ODD_CELLS = (
    *("?", "N/A", "-", "999", "999,00", "1.234", "1,234.5", "1234.5", "1.23,4", "€", "€ 7 €", "-€5", "%"),
    *("31.12.1990", "31/12/29", "29.02.1900", "00.00.0000", "12/31/90", "31.12.1990 25:61", "3", "1.0"),
    *("a;b", '"', 'a "quoted" word', "é\ufffd", "9" * 40, "1e999", "nan", "", " ", "\u00a0", "male", "\\1"),
)  # fmt: skip


def write(folder: Path, rows: Sequence[Mapping[str, str]]) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / "people.csv"
    lines = ["People of the clinic", ";".join(NAMES)]
    lines += [";".join(_cell(row.get(name, "")) for name in NAMES) for row in rows]
    path.write_bytes(("\r\n".join(lines) + "\r\n").encode("cp1252", errors="replace"))
    return path


def _cell(text: str) -> str:
    marked = text.replace('"', '""')
    return f'"{marked}"' if set(text) & set(';"\r\n') else text


def shown(path: Path, policy: str = POLICY) -> list[str]:
    """Return all that is shown before anything is paid: plans with queries, prices, refusals, errors."""
    return shown_before_paying(path, policy, QUESTIONS, ledger=":memory:")


def rows_of(path: Path | pd.DataFrame, schema: DeclaredSchema = DECLARED) -> list[dict[str, Any]]:
    opened = open_table(path, schema=schema)
    try:
        found = opened.engine.run(build.select(exp.Star(), source=opened.relation)).to_pylist()
    finally:
        opened.engine.close()
    return [{name: "nan" if v != v else v for name, v in row.items()} for row in found]


def test_one_odd_person_changes_no_plan_refusal_price_or_schema(tmp_path: Path) -> None:
    expected = shown(write(tmp_path / "all", PEOPLE))
    assert sum(line.startswith("[") for line in expected) == 5
    odd = [dict.fromkeys(NAMES, cell) for cell in ("?", "N/A", "1,234.5", "31/12/29", "é;\r")]
    for number, person in enumerate(odd):
        assert shown(write(tmp_path / f"odd{number}", [*PEOPLE, person])) == expected
    assert shown(write(tmp_path / "none", [])) == expected


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    column=st.sampled_from(NAMES),
    cell=st.one_of(
        st.sampled_from(ODD_CELLS),
        st.text("0123456789.,-+ '€%:/eE\u00a0", max_size=16),
        st.text(st.characters(codec="cp1252", exclude_characters="\r\n"), max_size=12),
    ),
)
def test_any_cell_of_one_person_moves_an_answer_by_one_person(
    tmp_path: Path, column: str, cell: str
) -> None:
    others = rows_of(write(tmp_path / "all", PEOPLE))
    odd = {**PEOPLE[0], column: cell}
    found = rows_of(write(tmp_path / "odd", [*PEOPLE[:4], odd, *PEOPLE[4:]]))
    assert len(found) == len(others) + 1
    extra = list(found)
    for row in others:
        extra.remove(row)
    assert all(name == column or value == others[0][name] for name, value in extra[0].items())


def test_answers_use_the_declared_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    missing = {**PEOPLE[0], "age": "999", "pay": "N/A", "born": "31/12/29"}
    path = write(tmp_path, [*PEOPLE, missing])
    with discreet.open(path, parse_policy(POLICY), ledger=":memory:") as curator:
        found = curator.ask("SELECT count(age) AS a, sum(pay) AS s FROM people", epsilon=1).rows
        sexes = curator.ask("SELECT sex, count(*) AS n FROM people GROUP BY sex", epsilon=1).rows
        late = curator.ask(
            "SELECT count(*) AS n FROM people WHERE born > DATE '2029-01-01'", epsilon=1
        ).rows
    assert found == [[9, pytest.approx(sum(1000 * (n + 1) + 250.5 for n in range(9)), abs=0.1)]]
    assert sexes == [["male", 6], ["female", 4]]
    assert late == [[1]]


def test_what_was_pinned_is_read_back_as_it_was(tmp_path: Path) -> None:
    opened = open_table(write(tmp_path, PEOPLE))
    assert opened.schema is not None
    assert opened.schema.skip == 1
    pinned = PinnedSchema(opened.schema, ("age",))
    assert read_pinned(pinned.write()) == pinned
    assert (
        rows_of(tmp_path / "people.csv", opened.schema)
        == opened.engine.run(build.select(exp.Star(), source=opened.relation)).to_pylist()
    )


def test_what_an_older_version_pinned_is_still_read() -> None:
    text = '{"columns": {"born": ["date", "%d/%m/%Y"], "age": ["integer", null]}, "keys": [], '
    found = read_pinned(text + '"delimiter": ";", "encoding": null}')
    assert found.schema is not None
    assert found.schema.columns["born"].written.dates == ("%d/%m/%Y",)
    assert found.schema.missing == ()


LABELS = """
tables:
  people:
    unit: row
    budget: {epsilon: 1000, delta: 1e-3}
    columns:
      sex: {role: quasi-identifier, kind: text, labels: {1: male, 2: female}, values: [male, female]}
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120], missing: ["99"]}
"""
SURVEY = (
    "SELECT sex, count(*) AS n FROM people GROUP BY sex",
    "SELECT avg(age) AS m, count(age) AS n FROM people",
    "SELECT count(pay) AS n FROM people",
)


def survey(folder: Path, ending: str, rows: Sequence[tuple[float, float]], **labels: Any) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"people.{ending}"
    frame = pd.DataFrame(rows, columns=["sex", "age"], dtype="float64")
    getattr(pyreadstat, {"sav": "write_sav", "dta": "write_dta"}[ending])(
        frame, str(path), **labels
    )
    return path


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_labels_of_a_statistics_file_come_from_the_policy_alone(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program may have made the labels from the rows: another label table changes nothing."""
    monkeypatch.setattr("tests.answer.test_declared_readings.QUESTIONS", SURVEY)
    rows = [(1.0, 30.0), (2.0, 40.0), (1.0, 99.0)]
    codes = {"sex": {1: "male", 2: "female"}}
    plain = survey(tmp_path / "plain", ending, rows)
    expected = shown(plain, LABELS)
    assert sum(line.startswith("[") for line in expected) == 2
    others = {"sex": {1: "he", 2: "she", 7: "only they"}, "age": {99: "refused"}}
    for number, (more, labels) in enumerate((([], codes), ([(7.0, 200.5)], others))):
        path = survey(tmp_path / f"{number}", ending, [*rows, *more], variable_value_labels=labels)
        assert shown(path, LABELS) == expected
    declared = replace(declared_file(parse_policy(LABELS).tables["people"]), delimiter=None)
    assert rows_of(plain, declared) == [
        {"sex": "male", "age": 30},
        {"sex": "female", "age": 40},
        {"sex": "male", "age": None},
    ]


DATES = {
    "sav": {"born": "DATE11", "seen": "DATETIME20", "woke": "TIME8"},
    "dta": {"born": "%td", "seen": "%tc", "woke": "%tcHH:MM:SS"},
    "xpt": {"born": "DATE", "seen": "DATETIME", "woke": "TIME"},
}
NUMBERS = {
    "sav": [(1.3e10, 1.36e10 + 3661.681885, 3723.0), (-5.0, 86400.0, 0.0)],
    "dta": [(11000.0, 1.9e12 + 3661250.4567, 3723000.0), (-400.0, -86400000.0, 0.0)],
    "xpt": [(11000.0, 1.9e9 + 3661.846856, 3723.0), (-400.0, -86400.0, 0.0)],
}


@pytest.mark.parametrize("ending", list(DATES))
@pytest.mark.parametrize("odd", [1e9, 1e15, -1e12, 1e300, "text"])
def test_no_cell_of_a_statistics_file_makes_a_question_fail(
    tmp_path: Path, ending: str, odd: float | str
) -> None:
    """pyreadstat refuses a whole file for one date beyond its range, or one text of other bytes."""
    writer = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[ending]
    kinds = {"born": "date", "seen": "timestamp", "woke": "time", "name": "text"}
    columns = ", ".join(
        f"{name}: {{kind: {kind}, role: insensitive}}" for name, kind in kinds.items()
    )
    declared = declared_file(
        parse_policy(f"tables: {{people: {{columns: {{{columns}}}}}}}").tables["people"]
    )
    found: list[list[dict[str, Any]]] = []
    for more in (False, True):
        rows = [(*numbers, "Zoë") for numbers in NUMBERS[ending]]
        if more and isinstance(odd, float):
            rows.insert(1, (odd, odd, odd, "Zora"))
        elif more:
            rows.insert(1, (*NUMBERS[ending][0], "Qxq"))
        path = tmp_path / f"{more}.{ending}"
        frame = pd.DataFrame(rows, columns=list(kinds))
        getattr(pyreadstat, writer)(frame, str(path), variable_format=DATES[ending])
        path.write_bytes(path.read_bytes().replace(b"Qxq", b"Q\xffq"))
        found.append(rows_of(path, declared))
    assert len(found[1]) == len(found[0]) + 1
    assert [found[1][0], *found[1][2:]] == found[0]
    assert all(found[0][0].values())


def test_codes_whose_labels_look_alike_stay_apart(tmp_path: Path) -> None:
    """Values that a label makes equal would share a class, and a table would look safer than it is."""
    labels = {"sex": {1: "yes", 2: "yes", 3: "yes (1)"}}
    rows = [(1.0, 30.0), (2.0, 40.0), (3.0, 50.0)]
    opened = open_table(survey(tmp_path, "sav", rows, variable_value_labels=labels))
    found = opened.engine.run(build.select(exp.Star(), source=opened.relation)).to_pylist()
    assert len({row["sex"] for row in found}) == 3


def test_a_server_reads_lines_as_the_policy_declares_them() -> None:
    text = "tables: {people: {reading: {multiline: false}, columns: {age: {kind: integer, role: insensitive}}}}"
    table = parse_policy(text).tables["people"]
    assert not correct_schema(DeclaredSchema({}), table).is_multiline


FRAME = """
tables:
  data:
    unit: row
    reading: {decimal: ",", missing: [N/A, "-"]}
    columns:
      age: {role: quasi-identifier, kind: integer, missing: ["999"]}
      pay: {role: sensitive, kind: number, thousands: "."}
      rate: {role: sensitive, kind: number}
      sex: {role: quasi-identifier, kind: text, labels: {1: male, 2: female}}
"""


@pytest.mark.parametrize("column", ["age", "pay", "rate", "sex"])
@pytest.mark.parametrize("odd", ["odd", "N/A", "1.234,5", True, None, 2.5, 999])
def test_one_cell_of_a_pandas_frame_changes_no_cell_of_others(column: str, odd: object) -> None:
    """One text makes a column of numbers one of objects: numbers must stay what they are."""
    declared = declared_file(parse_policy(FRAME).tables["data"])
    rows = [(999, 1.234, 0.5, 1), (1234, 1234.0, -1e-7, 2), (30, 1e16, 1.5, 1)]
    frame = pd.DataFrame(rows, columns=list(declared.columns))
    person = pd.DataFrame([{**frame.iloc[0].to_dict(), column: odd}]).astype({column: object})
    mixed = pd.concat([frame, person], ignore_index=True)
    assert rows_of(mixed, declared)[:3] == rows_of(frame, declared)
    assert rows_of(frame, declared)[:2] == [
        {"age": None, "pay": 1.234, "rate": 0.5, "sex": "male"},
        {"age": 1234, "pay": 1234.0, "rate": -1e-7, "sex": "female"},
    ]
