"""The loader: what a policy means, and every fault with its line, all at once."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from importlib.resources import files
from textwrap import dedent
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidPolicy, SourceNotFound
from discreet.policy.hierarchies.calendar import Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import build_taxonomy
from discreet.policy.load import load_policy, parse_policy
from discreet.policy.model import (
    AlphaK,
    BetaLikeness,
    ColumnPolicy,
    ColumnRole,
    DeltaDisclosure,
    DeltaPresence,
    KAnonymity,
    KMap,
    LDiversity,
    TCloseness,
)
from discreet.policy.write import dump_policy

if TYPE_CHECKING:
    from pathlib import Path

FULL = """\
tables:
  patients:
    source: patients.csv
    unit: patient_id
    columns:
      patient_id: identifier
      zip: {role: quasi-identifier, hierarchy: {prefix: [3, 1]}}
      sex: {role: quasi-identifier, values: [F, M, NO]}
      diagnosis: {role: sensitive, hierarchy: {file: icd.csv}}
      salary: {role: sensitive, bounds: [0, 500000.50]}
    criteria:
      - k-anonymity: {k: 5}
      - k-map: {k: 3}
      - l-diversity: {column: diagnosis, l: 2.5, kind: entropy}
      - l-diversity: {column: diagnosis, l: 3, kind: recursive, c: 4}
      - t-closeness: {column: diagnosis, t: 0.2, distance: hierarchical}
      - alpha-k: {column: salary, alpha: 0.5, k: 2}
      - delta-presence: {lower: 0.1, upper: 0.9}
      - beta-likeness: {column: salary, beta: 1, kind: enhanced}
      - delta-disclosure: {column: salary, delta: 1e-1}
  visits:
    columns:
      patient: {role: identifier, references: patients.patient_id}
"""


def faults(text: str) -> tuple[str, ...]:
    """Return the faults of a policy."""
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(dedent(text))
    return caught.value.faults


def column_faults(column: str) -> tuple[str, ...]:
    """Return the faults of a policy whose line 4 is column c."""
    return faults(f"tables:\n  t:\n    columns:\n      c: {column}\n")


def criterion_faults(criterion: str) -> tuple[str, ...]:
    """Return the faults of a policy whose line 10 is the criterion."""
    return faults(
        f"""\
        tables:
          t:
            columns:
              age: quasi-identifier
              disease:
                role: sensitive
              pay: sensitive
            criteria:
              - k-anonymity: {{k: 2}}
              - {criterion}
        """
    )


def test_every_part_of_a_policy_is_read_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "icd.csv").write_text("a;*\n")
    (tmp_path / "policy.yaml").write_text(FULL)
    policy = load_policy(tmp_path / "policy.yaml")
    patients, visits = policy.tables.values()
    assert (policy.path, list(policy.tables)) == (tmp_path / "policy.yaml", ["patients", "visits"])
    assert (patients.source, patients.unit, patients.line) == ("patients.csv", "patient_id", 2)
    assert [column.line for column in patients.columns] == [6, 7, 8, 9, 10]
    assert patients.with_role(ColumnRole.SENSITIVE) == ("diagnosis", "salary")
    assert patients.columns[1] == ColumnPolicy(
        "zip", ColumnRole.QUASI_IDENTIFIER, hierarchy=Prefix((3, 1)), line=7
    )
    assert patients.columns[2].values == ("F", "M", "NO")
    assert patients.columns[4].bounds == (Decimal(0), Decimal("500000.50"))
    assert visits.columns[0].references == ("patients", "patient_id")
    assert patients.criteria == (
        KAnonymity(5),
        KMap(3),
        LDiversity("diagnosis", 2.5, "entropy"),
        LDiversity("diagnosis", 3, "recursive", 4),
        TCloseness("diagnosis", 0.2, "hierarchical"),
        AlphaK("salary", 0.5, 2),
        DeltaPresence(0.1, 0.9),
        BetaLikeness("salary", 1, "enhanced"),
        DeltaDisclosure("salary", 0.1),
    )
    assert [criterion.line for criterion in patients.criteria] == list(range(12, 21))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{prefix: [3, 1], length: 5}", Prefix((3, 1), length=5)),
        (
            "{intervals: [0.5, 1], origin: 0.25, top: 9}",
            Intervals((Decimal("0.5"), Decimal(1)), origin=Decimal("0.25"), top=Decimal(9)),
        ),
        ("{cuts: [0, 18]}", Cuts(((Decimal(0), Decimal(18)),))),
        (
            "{cuts: [[0, 9, 18], [0, 18]]}",
            Cuts(((Decimal(0), Decimal(9), Decimal(18)), (Decimal(0), Decimal(18)))),
        ),
        ("{bottom: 18}", Extremes(bottom=Decimal(18))),
        ("{calendar: [month, year]}", Calendar(("month", "year"))),
        ("{tree: {A: [01, {B: [NO]}]}}", build_taxonomy({"A": ["01", {"B": ["NO"]}]})),
    ],
)
def test_every_kind_of_hierarchy_is_read(written: str, expected: object) -> None:
    policy = parse_policy(
        f"tables: {{t: {{columns: {{c: {{role: insensitive, hierarchy: {written}}}}}}}}}"
    )
    assert policy.tables["t"].columns[0].hierarchy == expected


def test_scalars_stay_as_they_are_written() -> None:
    policy = parse_policy(
        "tables: {t: {columns: {NO: {role: insensitive, values: [01234, NO, 1e5, null, 2020-01-01]}}}}"
    )
    column = policy.tables["t"].columns[0]
    assert column.name == "NO"
    assert column.values == ("01234", "NO", "1e5", "null", "2020-01-01")


def test_the_bundled_policy_loads_and_its_hierarchies_work() -> None:
    policy = load_policy(str(files("discreet") / "data" / "hospital" / "policy.yaml"))
    diagnosis = policy.tables["patients"].column("diagnosis")
    assert diagnosis is not None
    assert diagnosis.hierarchy is not None
    assert diagnosis.hierarchy.misses(pa.array(["no such code"])).to_pylist() == ["no such code"]


def test_anchors_may_be_reused() -> None:
    policy = parse_policy(
        "tables: {t: {columns: {a: &a {role: sensitive, hierarchy: {prefix: [1]}}, b: *a}}}"
    )
    assert policy.tables["t"].columns[1].hierarchy == Prefix((1,))


def test_all_faults_are_reported_together_in_the_order_of_the_file() -> None:
    found = faults(
        """\
        tables:
          patients:
            columns:
              age:
                role: quasi-identifier
                hierachy: {intervals: [5]}
              zip: {role: quasi-identifer, hierarchy: {prefix: [1, 3]}}
              disease: sensitive
              disease: identifier
            criteria:
              - k-anonymity: {k: 0}
              - t-closeness: {column: diseas, t: 2}
              - l-diversity: {column: age, l: 3}
        """
    )
    assert found == (
        "policy:6: column 'age': unknown key 'hierachy'. Did you mean 'hierarchy'?",
        "policy:7: column 'zip': 'role' cannot be 'quasi-identifer'. Did you mean 'quasi-identifier'?",
        "policy:7: column 'zip': hierarchy: Prefixes must get shorter from level to level, such as [3, 1].",
        "policy:9: table 'patients': key 'disease' is written twice. Keep one of them.",
        "policy:11: criterion 'k-anonymity': 'k' must be at least 1, not '0'.",
        "policy:12: criterion 't-closeness': 't' must be at most 1, not '2'.",
        "policy:12: criterion 't-closeness': column 'diseas' is not listed in table 'patients'. Did you mean 'disease'?",
        "policy:13: criterion 'l-diversity': column 'age' has the role 'quasi-identifier', but the criterion protects a sensitive column. Give it the role 'sensitive', or name another.",
    )


def test_faults_name_the_file_and_with_several_tables_the_table(tmp_path: Path) -> None:
    path = tmp_path / "patients.yaml"
    path.write_text("tables:\n  a: {columns: {x: identifier}}\n  b: {columns: {x: nobody}}\n")
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(path)
    assert str(caught.value).startswith(f"{path}:3: column 'x' of table 'b': 'role' cannot be")


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        ("nobody", "'role' cannot be 'nobody'. It is one of: 'household', 'identifier',"),
        ("{}", "the key 'role' is missing"),
        ("[a]", "'c' must hold keys and values, not a list"),
        ("{role: [a]}", "'role' cannot be a list"),
        ("{role: sensitive, bounds: [9, 1]}", "lower bound 9 is above upper bound 1"),
        ("{role: sensitive, bounds: [1]}", "'bounds' needs two numbers"),
        ("{role: sensitive, bounds: [1, 2, 3]}", "'bounds' needs two numbers"),
        ("{role: sensitive, bounds: [1, x]}", "'bounds' must be a number, not 'x'"),
        ("{role: sensitive, bounds: [1, .nan]}", "'bounds' must be a number, not '.nan'"),
        ("{role: sensitive, bounds: [1, NaN]}", "'bounds' must be a number, not 'NaN'"),
        ("{role: sensitive, bounds: 5}", "'bounds' must be a list in [ ], not '5'"),
        ("{role: sensitive, bounds: [2024-01-01, 2020-01-01]}", "lower bound 2024-01-01 is above"),
        ("{role: sensitive, bounds: [2024-01-01, 5]}", "'bounds' has '5' beside a date"),
        ("{role: sensitive, bounds: [2024-01-01]}", "'bounds' needs two dates"),
        ("{role: sensitive, bounds: [2024-01-01, 2024-02-30]}", "has '2024-02-30' beside a date"),
        ("{role: sensitive, kind: date, bounds: [0, 9]}", "the kind is 'date', so that the bounds"),
        ("{role: sensitive, kind: integer, bounds: [2020-01-01, 2020-01-02]}", "bounds are dates"),
        (
            "{role: sensitive, kind: date, bounds: [2020-01-01 08:00, 2020-01-02]}",
            "a time of the day",
        ),
        ("{role: sensitive, values: [a, b, a]}", "value 'a' is listed twice"),
        ("{role: sensitive, values: []}", "'values' must not be empty"),
        ("{role: sensitive, values: [{a: b}]}", "'values' must be plain text, not keys"),
        ("{role: sensitive, references: patients}", "'references' must be written table.column"),
        ("{role: sensitive, kind: date, format: foo}", "'format' must be the form of a date"),
        (
            "{role: sensitive, references: tt.c}",
            "references table 'tt', which is not in the policy",
        ),
        ("{role: sensitive, references: t.cc}", "references 'cc', which table 't' does not list"),
        ("{role: sensitive, hierarchy: }", "'hierarchy' must hold keys and values, not nothing"),
        ("{role: sensitive, hierarchy: {}}", "a hierarchy needs one of: prefix"),
        ("{role: sensitive, hierarchy: {prefix: [a]}}", "'prefix' must be a whole number"),
        ("{role: sensitive, hierarchy: {prefix: []}}", "'prefix' must not be empty"),
        (
            "{role: sensitive, hierarchy: {prefx: [1]}}",
            "unknown key 'prefx'. Did you mean 'prefix'?",
        ),
        (
            "{role: sensitive, hierarchy: {prefix: [1], top: 4}}",
            "'top' does not go with 'prefix'",
        ),
        ("{role: sensitive, hierarchy: {length: 4, top: 1}}", "'length' does not go with 'nothing"),
        (
            "{role: sensitive, hierarchy: {prefix: [1], calendar: [year]}}",
            "a hierarchy has one kind, not both 'prefix' and 'calendar'",
        ),
        ("{role: sensitive, hierarchy: {calendar: [years]}}", "Did you mean 'year'?"),
        (
            "{role: sensitive, hierarchy: {calendar: [year, month]}}",
            "hierarchy: Periods must get longer",
        ),
        ("{role: sensitive, hierarchy: {intervals: [5, 12]}}", "hierarchy: Steps 5 and 12 do not"),
        ("{role: sensitive, hierarchy: {intervals: [0]}}", "hierarchy: Steps must be positive"),
        ("{role: sensitive, hierarchy: {cuts: [0, [5]]}}", "'cuts' must be a list in [ ], not '0'"),
        ("{role: sensitive, hierarchy: {cuts: [5]}}", "hierarchy: Cuts must increase"),
        ("{role: sensitive, hierarchy: {tree: {a: b}}}", "hierarchy: Group 'a' of the tree must"),
        (
            "{role: sensitive, hierarchy: {tree: {a: [b, b]}}}",
            "hierarchy: Value 'b' is in the tree",
        ),
        (
            "{role: sensitive, hierarchy: {file: no.csv}}",
            "hierarchy: Hierarchy file 'no.csv' is not",
        ),
        ("{role: sensitive, hierarchy: {file: .}}", "hierarchy: Hierarchy file '.' cannot be read"),
    ],
)
def test_a_fault_of_a_column_is_reported_with_its_line(column: str, fault: str) -> None:
    (found,) = column_faults(column)
    assert found.startswith("policy:4: column 'c': ")
    assert fault in found


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("id: x", "'id' must be 4 to 80 characters (a-z, A-Z, 0-9, '-', '_')"),
        ("id: clinic/visits", "that begin with a letter or digit, not 'clinic/visits'"),
        ("reading: {encoding: ascii}", "such as utf-8, utf-16, cp1252 or latin-1, not 'ascii'"),
    ],
)
def test_a_text_that_does_not_match_its_pattern_is_reported_with_its_form(
    key: str, fault: str
) -> None:
    (found,) = faults(f"tables:\n  t:\n    {key}\n    columns:\n      c: sensitive\n")
    assert fault in found


@pytest.mark.parametrize(
    ("criterion", "fault"),
    [
        ("k-anonymity: {k: 0}", "'k' must be at least 1, not '0'"),
        ("k-anonymity: {k: 2.5}", "'k' must be a whole number, not '2.5'"),
        ("k-anonymity: {}", "the key 'k' is missing"),
        ("k-anonymity: 5", "'k-anonymity' must hold keys and values, not '5'"),
        ("k-map: {k: -1}", "'k' must be at least 1"),
        ("k-map: {kk: 1, k: 2}", "unknown key 'kk'. Did you mean 'k'?"),
        ("l-diversity: {column: disease, l: 0.5}", "'l' must be at least 1, not '0.5'"),
        ("l-diversity: {column: disease, l: inf}", "'l' must be a number, not 'inf'"),
        ("l-diversity: {column: disease, l: 2, kind: entropic}", "Did you mean 'entropy'?"),
        ("l-diversity: {column: disease, l: 2, kind: recursive}", "kind 'recursive' needs 'c'"),
        ("l-diversity: {column: disease, l: 2, c: 3}", "'c' belongs to kind 'recursive'"),
        ("l-diversity: {column: disease, l: 2.5, kind: recursive, c: 1}", "a whole number 'l'"),
        ("l-diversity: {column: disease, l: 2, kind: recursive, c: 0}", "'c' must be more than 0"),
        ("l-diversity: {column: diseases, l: 2}", "Did you mean 'disease'?"),
        ("l-diversity: {column: age, l: 2}", "column 'age' has the role 'quasi-identifier'"),
        ("l-diversity: {l: 2}", "the key 'column' is missing"),
        ("l-diversity: {column: '', l: 2}", "'column' must not be empty"),
        ("t-closeness: {column: disease, t: -0.1}", "'t' must be at least 0"),
        ("t-closeness: {column: disease, t: 1.1}", "'t' must be at most 1"),
        ("t-closeness: {column: disease, t: nan}", "'t' must be a number, not 'nan'"),
        ("t-closeness: {column: disease, t: 1, distance: order}", "Did you mean 'ordered'?"),
        (
            "t-closeness: {column: disease, t: 1, distance: hierarchical}",
            "distance 'hierarchical' needs a hierarchy. Add one to column 'disease'.",
        ),
        ("alpha-k: {column: disease, alpha: 0, k: 2}", "'alpha' must be more than 0"),
        ("alpha-k: {column: disease, alpha: 1.5, k: 2}", "'alpha' must be at most 1"),
        ("delta-presence: {lower: 0.6, upper: 0.5}", "'lower' 0.6 is above 'upper' 0.5"),
        ("delta-presence: {lower: 0, upper: 1.5}", "'upper' must be at most 1"),
        ("beta-likeness: {column: disease, beta: 0}", "'beta' must be more than 0"),
        ("delta-disclosure: {column: disease, delta: 0}", "'delta' must be more than 0"),
        ("k-anonimity: {k: 2}", "unknown criterion 'k-anonimity'. Did you mean 'k-anonymity'?"),
        ("k-anonymity", "write the criterion with its parameters"),
        ("{}", "each item holds one criterion"),
        ("{k-anonymity: {k: 2}, k-map: {k: 2}}", "each item holds one criterion"),
    ],
)
def test_a_fault_of_a_criterion_is_reported_with_its_line(criterion: str, fault: str) -> None:
    (found,) = criterion_faults(criterion)
    assert found.startswith("policy:10: criterion ")
    assert fault in found


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "policy:1: the file is empty."),
        ("# nothing but words\n", "policy:1: the file is empty."),
        ("tables:", "policy:1: 'tables' must hold keys and values, not nothing."),
        ("tables: {}", "policy:1: 'tables' must not be empty."),
        ("tabels: {t: {columns: {a: identifier}}}", "unknown key 'tabels'. Did you mean 'tables'?"),
        ("hello", "policy:1: a policy begins with the key 'tables', not with 'hello'."),
        ("- a", "policy:1: a policy begins with the key 'tables', not with a list."),
        ("tables: {t: {}}", "policy:1: table 't': the key 'columns' is missing."),
        ("tables: {t: {columns: {}}}", "policy:1: table 't': 'columns' must not be empty."),
        ("tables: {t: {columns: [a]}}", "policy:1: table 't': 'columns' must hold keys and values"),
        ("tables:\n  t: [a", "flow sequence that began on line 2"),
        ("tables:\n\tt: 1", "policy:2: not YAML: "),
        ("tables: 1\n---\ntables: 2", "policy:2: not YAML: expected a single document"),
        ("tables:\n  t: *nobody", "policy:2: not YAML: found undefined alias"),
        ("tables:\n  t: \x01", "policy:2: not YAML: a character that YAML does not allow"),
        ("tables: &t {t: *t}", "policy:1: an alias stands for what it is part of"),
        ("tables: {[a, b]: c}", "policy:1: a key must be plain text"),
    ],
)
def test_a_file_that_is_no_policy_is_reported_with_its_line(text: str, fault: str) -> None:
    found = faults(text)
    assert any(fault in sentence for sentence in found), found


def test_a_table_has_known_keys_only() -> None:
    (found,) = faults("tables:\n  t:\n    columns: {a: identifier}\n    bugdet: {epsilon: 1}\n")
    assert found.startswith("policy:4: table 't': unknown key 'bugdet'. Did you mean 'budget'?")


@pytest.mark.parametrize("role", ["sensitive", "quasi-identifier"])
def test_a_unit_is_not_a_secret_or_an_attribute(role: str) -> None:
    (found,) = faults(f"tables:\n  t:\n    columns: {{a: {role}}}\n    unit: a\n")
    assert found.startswith(f"policy:4: table 't': unit 'a' has the role '{role}'")


def test_a_unit_need_not_be_listed() -> None:
    assert parse_policy("tables: {t: {unit: id, columns: {a: sensitive}}}").tables["t"].unit == "id"


def test_aliases_cannot_fill_the_memory() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]
    (found,) = faults("\n".join(lines))
    assert "aliases repeat too much" in found


def test_a_missing_file_is_no_such_source(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFound, match="is not there") as caught:
        load_policy(tmp_path / "nope.yaml")
    assert caught.value.exit_code == 2


def test_a_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy, match="a directory"):
        load_policy(tmp_path)


def test_a_wrong_encoding_names_byte_and_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes("tables:\n  pâtients: {}\n".encode("latin-1"))
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(path)
    assert caught.value.faults == (
        f"{path}:2: byte 12 of the file (0xE2) is not UTF-8. Save the file as UTF-8.",
    )


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("tables: {t: {columns: {a: identifier}}}", encoding="utf-8-sig")
    assert load_policy(str(path)).tables["t"].columns[0].name == "a"


def test_a_fault_in_a_hierarchy_file_names_that_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "icd.csv").write_text("a;x;p;*\nb;x;q;*\n")
    text = "tables:\n t:\n  columns:\n   c: {role: sensitive, hierarchy: {file: icd.csv}}\n"
    with pytest.raises(InvalidPolicy) as caught:
        parse_policy(text, path=tmp_path / "p.yaml")
    (found,) = caught.value.faults
    assert found.startswith(f"{tmp_path / 'p.yaml'}:4: column 'c': hierarchy: icd.csv:2: levels 1")


KEYS = [
    "tables",
    "t",
    "columns",
    "c",
    "criteria",
    "role",
    "bounds",
    "values",
    "hierarchy",
    "prefix",
    "cuts",
    "tree",
    "column",
    "k",
    "file",
    "odd",
    "k-anonymity",
    "t-closeness",
    "unit",
    "references",
    "distance",
    "source",
    "intervals",
]
yaml_like = st.recursive(
    st.sampled_from(["", "5", "-1", "identifier", "sensitive", "c", "nan", "[", "{a: b}", "t.c"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=25,
)


def test_bounds_of_dates_are_dates() -> None:
    written = "{role: sensitive, kind: timestamp, bounds: {public: [2020-01-01, 2024-12-31T20:00]}}"
    policy = parse_policy(f"tables: {{t: {{columns: {{seen: {written}}}}}}}")

    seen = policy.tables["t"].columns[0]

    assert seen.bounds is None
    assert seen.date_bounds == (dt.date(2020, 1, 1), dt.datetime(2024, 12, 31, 20))  # noqa: DTZ001
    assert parse_policy(dump_policy(policy)) == policy


def test_a_unit_may_have_periods_by_a_column_with_bounds_of_dates() -> None:
    unit = "unit: {column: p, per: month, on: seen}"
    columns = (
        "{p: identifier, seen: {role: sensitive, kind: date, bounds: [2020-01-01, 2024-12-31]}}"
    )

    policy = parse_policy(f"tables: {{t: {{{unit}, columns: {columns}}}}}")

    assert policy.tables["t"].unit_period is not None


@given(yaml_like)
def test_any_document_is_a_policy_or_has_faults_with_lines(data: object) -> None:
    text = f"tables: {{t: {_flow(data)}}}"
    assert all(fault.startswith("policy:1: ") for fault in _faults_if_any(text))


def _faults_if_any(text: str) -> tuple[str, ...]:
    try:
        parse_policy(text)
    except InvalidPolicy as error:
        return error.faults
    return ()


def _flow(data: object) -> str:
    if isinstance(data, dict):
        return "{" + ", ".join(f"{key}: {_flow(value)}" for key, value in data.items()) + "}"
    if isinstance(data, list):
        return "[" + ", ".join(map(_flow, data)) + "]"
    return f"'{data}'"
