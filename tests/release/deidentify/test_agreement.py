"""`init` and `deidentify` cannot disagree on what a column is: one decides from what the other drafts."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pytest

from discreet.engines.connect import open_table
from discreet.measure.profile import draft_tables, guess_roles
from discreet.policy.model import ColumnRole
from discreet.release.deidentify.treatments import Action, treat_columns

ROWS = 500
LARGEST = 6_000_000  # bytes of a file that is read as a whole
DEMO = Path(__file__).parents[3] / "src" / "discreet" / "data"
MADE = pa.table(
    {
        "Bemerkung": [f"Frau Schulz rief an, bitte {n} zurückrufen" for n in range(60)],
        "kommentar": ["ok", "nein"] * 30,
        "fax": [f"+49 30 {n:07d}" for n in range(60)],
        "arbeitgeber": [f"Firma {n % 7}" for n in range(60)],
        "schule": [f"Schule {n % 7}" for n in range(60)],
        "geburtsort": [f"Dorf {n % 7}" for n in range(60)],
        "region": [f"R{n}" for n in range(60)],
        "alter_in_monaten": list(range(60)),
        "geburtsjahr": [1940 + n for n in range(60)],
        "dauer_tage": [n % 9 for n in range(60)],
        "los_days": [n % 9 for n in range(60)],
        "x1": [f"MR{1234500 + n // 2}" for n in range(60)],
        "x2": [n / 7 for n in range(60)],
        "x3": [b"\x00", b"\x01"] * 30,
        "x4": ["Boston", "Denver", "Tulsa"] * 20,
        "x5": [*["seen twice"] * 59, "ask Mary Smith"],
        "x6": [f"{n} Main St" for n in range(100, 130)] * 2,
        "religion": ["katholisch", "evangelisch"] * 30,
    }
)


def _tables(shared: Path) -> list[tuple[str, pa.Table]]:
    """Return the head of every table there is."""
    files = [*shared.glob("*/*.csv"), *DEMO.glob("**/*.csv")]
    small = [path for path in sorted(files) if path.stat().st_size <= LARGEST]
    found = [("made", MADE)]
    for path in small:
        try:
            found.append((str(path), csv.read_csv(path).slice(0, ROWS)))
        except pa.ArrowInvalid:  # another delimiter, or no table
            continue
    return found


def test_a_treatment_follows_from_the_drafted_guess(shared_data: Path) -> None:
    tables = _tables(shared_data)
    assert len(tables) > 5
    for name, data in tables:
        table = open_table(data)
        drafted = {one.guess.column: one.guess for one in draft_tables([table]).tables[0].columns}
        for treatment in treat_columns(table, guess_roles(table)):
            guess = drafted[treatment.column]
            place = (name, treatment.column, str(guess.role), guess.meaning, str(treatment.action))
            if guess.role.names_people:
                assert treatment.action in (Action.REMOVE, Action.REDACT), place
            if treatment.action is Action.KEEP:
                assert guess.safe_harbor is None, place
            elif treatment.action is not Action.REDACT:
                assert treatment.letter == (guess.safe_harbor or "R"), place
        table.engine.close()


def test_a_special_category_is_never_drafted_as_insensitive() -> None:
    columns = {
        "c1": ["Asian", "Hispanic", "White", "Black"] * 50,
        "c2": ["katholisch", "evangelisch", "muslimisch", "keine"] * 50,
        "c3": ["SPD", "CDU", "FDP", "Die Grünen"] * 50,
        "c4": ["heterosexual", "homosexual", "bisexual", "unknown"] * 50,
        "c5": ["diabetes", "asthma", "hepatitis", "none"] * 50,
        "c6": ["C09AA05", "N02BE01", "A10BA02", "C07AB02", "B01AC06"] * 40,
        "c7": ["5-470.11", "8-980", "5-820.00", "1-632.0", "3-200"] * 40,
        "c8": ["cukrzyca", "nadciśnienie", "astma", "depresja"] * 50,
        "c9": ["católico", "musulmán", "ateo", "judío"] * 50,
    }
    table = open_table(pa.table(columns))
    found = guess_roles(table)
    assert {name: guess.role for name, guess in found.items()} == dict.fromkeys(
        columns, ColumnRole.SENSITIVE
    )
    table.engine.close()


@pytest.mark.parametrize(
    ("name", "values", "is_code"),
    [
        ("sex", [1, 2] * 100, True),
        ("region", [n % 16 + 1 for n in range(200)], True),
        ("marital_status", [n % 5 + 1 for n in range(200)], True),
        ("nace_code", [1000 + n % 60 for n in range(200)], True),
        ("icd9", [250, 401, 428, 486] * 50, True),
        ("q17", [1, 2, 3, 9] * 50, True),
        ("age", [n % 90 for n in range(200)], False),
        ("number_of_children", [n % 5 for n in range(200)], False),
        ("year", [2000 + n % 9 for n in range(200)], False),
        ("income", [1000 * (n % 15) for n in range(200)], False),
        ("x9", [n % 8 for n in range(200)], False),
        ("glucose", [80 + n % 90 for n in range(200)], False),
    ],
)
def test_numbers_that_are_codes_are_drafted_without_an_order(
    name: str, values: list[int], is_code: bool
) -> None:
    table = open_table(pa.table({name: values, "zip": ["10115", "10117"] * 100}))
    draft = draft_tables([table])
    column = draft.tables[0].columns[0]
    assert column.guess.is_code is is_code
    hierarchy = column.domain.hierarchy or {}
    assert column.domain.bounds is None or not is_code
    assert "intervals" not in hierarchy or not is_code or name == "nace_code"
    table.engine.close()
