"""A determination measures, assumes aloud, and is never kinder than the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.errors import WrongUsage
from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy
from discreet.release.deidentify.deidentify import determine_source
from discreet.release.deidentify.expert import THRESHOLD, Determination, ExpertChoices

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.engine import Engine

POLICY = Policy(
    {
        "people": TablePolicy(
            "people",
            (
                ColumnPolicy("id", ColumnRole.IDENTIFIER),
                ColumnPolicy("sex", ColumnRole.QUASI_IDENTIFIER),
                ColumnPolicy("ill", ColumnRole.SENSITIVE),
            ),
            unit="id",
        )
    }
)


def people(*sizes: int, **extra: list[Any]) -> pa.Table:
    """Return classes of these sizes, distinguished by `sex`."""
    sex = [str(number) for number, size in enumerate(sizes) for _ in range(size)]
    ill = [("flu", "cold")[row % 2] for row in range(len(sex))]
    return pa.table({"sex": sex, "ill": ill, **extra})


def judged(table: Any, output: Path | None = None, **choices: Any) -> Determination:
    return determine_source(table, POLICY, output, choices=ExpertChoices(**choices))


@pytest.mark.soak("spark")
def test_the_residual_risk_is_that_of_the_smallest_class_on_any_engine(any_engine: Engine):
    table = open_table(people(5, 20), engine=any_engine)
    found = judged(table)
    assert (found.residual_risk, found.holds, found.k) == (0.2, False, 5)


def test_eleven_people_are_enough_for_the_usual_threshold():
    assert judged(people(11, 30)).holds
    assert judged(people(11, 30), threshold=0.09).holds
    assert judged(people(11, 30), threshold=0.09).threshold == THRESHOLD
    assert not judged(people(10, 30)).holds


def test_a_table_with_identifiers_is_never_safe():
    found = judged(people(20, id=[str(n) for n in range(20)]))
    assert (found.residual_risk, found.holds) == (1.0, False)
    assert "'id'" in found.verdict


def test_with_an_output_identifiers_and_unknown_columns_go(tmp_path: Path):
    table = people(20, id=[str(n) for n in range(20)], more=[str(n) for n in range(20)])
    found = judged(table, tmp_path / "out.csv")
    assert (found.holds, found.removed) == (True, ("id", "more"))
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "sex,ill"
    assert (tmp_path / "out.csv.release.json").exists()


def test_people_with_several_rows_count_once():
    table = people(20, id=["a"] * 19 + ["b"])
    assert judged(table, remove_identifiers=True).residual_risk == 0.5


def test_nothing_is_written_above_the_threshold(tmp_path: Path):
    assert not judged(people(2, 20), tmp_path / "out.csv").holds
    assert list(tmp_path.iterdir()) == []


def test_the_marketer_counts_the_average_and_the_journalist_the_population():
    table = people(1, 39)
    assert judged(table, adversary="marketer").residual_risk == pytest.approx(2 / 40)
    population = people(4, 60).select(["sex"])
    found = judged(table, adversary="journalist", against=population)
    assert found.residual_risk == 0.25
    assert any("64 in the population" in text for text in found.assumptions)


def test_attacks_tried_and_not_tried_and_assumptions_are_reported():
    found = judged(people(3, 20))
    assert any("'ill'" in item.attack for item in found.attacks_tried)
    assert any("intersection" in item.attack for item in found.attacks_not_tried)
    assert any("sex" in text for text in found.assumptions)
    assert any("unit 'id' is not in the table" in text for text in found.cautions)


def test_no_class_is_shown_by_its_values():
    table = people(3, 20).set_column(0, "sex", pa.array(["xylophone"] * 3 + ["F"] * 20))
    assert "xylophone" not in str(judged(table).to_dict())


def test_what_cannot_be_judged_is_refused():
    with pytest.raises(WrongUsage, match="--policy"):
        determine_source(people(3), None, choices=ExpertChoices())
    with pytest.raises(WrongUsage, match="--against"):
        judged(people(3), adversary="journalist")
    with pytest.raises(WrongUsage, match="between 0 and 1"):
        judged(people(3), threshold=0.0)
