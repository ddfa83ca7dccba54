"""Pages of deidentify: they tell what was done, show no cell, and run nothing."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from discreet.policy.model import ColumnPolicy, ColumnRole, Policy, TablePolicy
from discreet.release.deidentify.deidentify import determine_source, safe_harbor
from discreet.release.deidentify.expert import ExpertChoices
from discreet.report import deidentified, expert

ON = dt.date(2026, 5, 17)
PEOPLE = pa.table(
    {
        "name": [f"Zebulon Quackenbush {n}" for n in range(30)],
        "sex": ["F", "M"] * 15,
        "<b>ward": ["xylophone", "surgery"] * 15,
    }
)


def test_the_page_reports_all_classes_and_shows_no_cell():
    page = deidentified.render_deidentified_page(safe_harbor(PEOPLE, as_of=2026), on=ON)
    assert "2026-05-17" in page
    assert "full-face photographs" in page
    assert "Zebulon" not in page
    assert "xylophone" not in page


def test_names_of_columns_are_no_markup():
    page = deidentified.render_deidentified_page(safe_harbor(PEOPLE, as_of=2026), on=ON)
    assert "<b>ward" not in page
    assert "&lt;b&gt;ward" in page
    assert "<script" not in page


def test_the_headline_is_green_only_where_few_people_are_alone():
    many = safe_harbor(PEOPLE, as_of=2026)
    alone = safe_harbor(PEOPLE.append_column("age", [list(range(30))]), as_of=2026)
    assert '<p class="status holds">' in deidentified.render_deidentified_page(many, on=ON)
    page = deidentified.render_deidentified_page(alone, on=ON)
    assert '<p class="status fails">' in page
    assert "2 attacks learn more than is tolerated." in page
    assert "alone on the columns that stay" in page


def test_the_expert_page_is_not_green_where_people_are_alone_on_what_stays():
    columns = (
        ColumnPolicy("sex", ColumnRole.QUASI_IDENTIFIER),
        ColumnPolicy("shoe", ColumnRole.INSENSITIVE),
    )
    people = pa.table({"sex": ["F", "M"] * 15, "shoe": list(range(30))})
    found = determine_source(
        people, Policy({"t": TablePolicy("t", columns)}), choices=ExpertChoices()
    )
    page = expert.render_determination_page(found, on=ON)
    assert found.holds
    assert '<p class="status fails">' in page
    assert "not above the threshold. 1 attack learns more than is tolerated." in page


def test_the_expert_page_has_risks_attacks_assumptions_and_a_place_to_sign():
    policy = Policy(
        {
            "t": TablePolicy(
                "t",
                (
                    ColumnPolicy("sex", ColumnRole.QUASI_IDENTIFIER),
                    ColumnPolicy("name", ColumnRole.IDENTIFIER),
                ),
            )
        }
    )
    choices = ExpertChoices(expert="Ada <Byron>", remove_identifiers=True, fraction=0.1)
    page = expert.render_determination_page(
        determine_source(PEOPLE, policy, choices=choices), on=ON
    )
    for words in ("Prosecutor (decides)", "Attacks not tried", "Assumptions", "Signature"):
        assert words in page
    assert "Ada &lt;Byron&gt;" in page
    assert "Zebulon" not in page
