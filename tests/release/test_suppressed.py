"""What a reader of the file sees counts: gaps are values, and rows of `*` are a class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.errors import RiskNotTolerated
from discreet.measure.assess import assess
from discreet.policy import model
from discreet.policy.model import KAnonymity, LDiversity
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.release import Release

# No one knows the age of three people, who live apart and share an illness.
AGELESS = pa.table(
    {
        "age": pa.array([None, None, None, 30, 30, 31, 40, 41, 40]),
        "zip": ["1", "2", "3", "4", "4", "4", "5", "5", "5"],
        "ill": ["HIV"] * 3 + ["flu", "gout", "cold"] * 2,
    }
)


def release(
    table: pa.Table, *criteria: model.Criterion, quasi: str = "zip", **arguments
) -> Release:
    options = AnonymizeOptions(quasi=quasi.split(), sensitive=["ill"], criteria=criteria)
    return anonymize_source(table, options=options, **arguments)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_class_labelled_missing_and_star_is_attacked(tmp_path: Path, name: str):
    criteria = KAnonymity(3), model.TCloseness("ill", 1.0)
    with pytest.raises(RiskNotTolerated, match="homogeneity of ill learns 33") as refused:
        release(AGELESS, *criteria, quasi="age zip", output=tmp_path / name)
    assert not (tmp_path / name).exists()
    assert refused.value.findings[0].attack == "homogeneity"
    result = release(AGELESS, *criteria, quasi="age zip")
    assert "The ill of 3 of 9 people (33.3 %) follows from age and zip" in result.verdict
    assert (result.k, result.classes, result.suppressed) == (3, 3, 0)


def test_a_class_labelled_missing_and_star_is_measured_afresh(tmp_path: Path):
    """Diversity is enforced on it, and found again in the file."""
    criteria = KAnonymity(3), LDiversity("ill", 2)
    place = tmp_path / "out.csv"
    found = release(AGELESS, *criteria, quasi="age zip", output=place)
    again = assess(place, quasi=["age", "zip"], sensitive=["ill"], depth=0)
    assert (again.k, again.classes) == (found.k, found.classes)
    assert again.sensitive["ill"].l.distinct >= 2
    assert again.sensitive["ill"].homogeneous == 0


def test_missing_against_present_has_a_cost():
    table = pa.table({"zip": pa.array(["5", None, "5", None]), "ill": list("abcd")})
    found = release(table, KAnonymity(4))
    assert (found.loss, found.losses) == (1.0, {"zip": 1.0})
    assert "100 % of the detail" in found.verdict
    kept = release(table, KAnonymity(2))
    assert (kept.loss, kept.classes) == (0.0, 2)


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.float64()])
def test_every_kind_of_column_pays_for_hiding_its_gaps(kind: pa.DataType):
    table = pa.table({"zip": pa.array([None, 5, None, 5]).cast(kind), "ill": list("abcd")})
    assert release(table, KAnonymity(4)).loss == 1.0


def test_output_of_stars_does_not_say_that_nothing_is_lost(tmp_path: Path):
    table = pa.table({"zip": ["*"] * 4, "ill": list("abcd")})
    found = release(table, KAnonymity(2), LDiversity("ill", 2), output=tmp_path / "out.csv")
    assert (found.loss, found.suppressed, found.withheld) == (1.0, 4, 0)
    assert found.verdict.startswith("Every row of Table is suppressed")
    assert any("4 rows were suppressed in the source already" in one for one in found.cautions)


# Two rows are suppressed in the source; the others are two classes.
STARRED = {"zip": ["*", "*", "x", "x", "y", "y", "y"]}


@pytest.mark.parametrize(
    ("secrets", "withheld"), [(["HIV", "HIV"], 2), (["HIV", "flu"], 0), (["HIV", None], 2)]
)
def test_rows_suppressed_in_the_source_are_judged_with_the_others(tmp_path, secrets, withheld):
    table = pa.table({**STARRED, "ill": [*secrets, "a", "b", "a", "b", "c"]})
    place = tmp_path / "out.csv"
    criteria = KAnonymity(2), LDiversity("ill", 2)
    found = release(table, *criteria, output=place, accept_risk="seven people")
    assert (found.suppressed, found.withheld) == (2, withheld)
    assert any("suppressed in the source already" in caution for caution in found.cautions)
    again = assess(place, quasi=["zip"], sensitive=["ill"], depth=0)
    assert (again.rows, again.sensitive["ill"].l.distinct) == (7 - withheld, 2)


def test_a_homogeneous_class_of_stars_is_found_in_a_file_from_elsewhere():
    table = pa.table({**STARRED, "ill": ["HIV", "HIV", "a", "b", "a", "b", "c"]})
    found = assess(table, quasi=["zip"], sensitive=["ill"], depth=0)
    assert (found.suppressed, found.k, found.sensitive["ill"].homogeneous) == (2, 2, 2)
    assert "follows from their class" in found.verdict
