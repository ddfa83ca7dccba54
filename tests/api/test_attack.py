"""`discreet.attack`: attacks by name, as the command line runs them."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from click.testing import CliRunner

import discreet
from discreet.attacks.options import attack_options
from discreet.cli.command import cli
from discreet.errors import UnknownColumn, WrongUsage
from discreet.registry import ATTACKS

ROWS = 40
PEOPLE = pa.table(
    {
        "name": [f"p{i}" for i in range(ROWS)],
        "age": [20 + i // 2 for i in range(ROWS)],
        "zip": [10000 + i % 7 for i in range(ROWS)],
        "pay": [1000 * i for i in range(ROWS)],
        "ill": [["flu", "gout", "HIV"][i % 3] for i in range(ROWS)],
        "hashed": [hashlib.md5(f"p{i}".encode()).hexdigest() for i in range(ROWS)],
    }
)
RELEASE = PEOPLE.select(["age", "zip", "ill"])
CALLS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "linkage": (("release.csv",), {"known": "people.csv", "on": ["age", "zip"]}),
    "homogeneity": (("release.csv",), {"quasi": ["age"], "sensitive": ["ill"]}),
    "background": (
        ("release.csv",),
        {"quasi": ["age"], "sensitive": ["ill"], "person": {"age": 21}, "knows": ["ill <> 'flu'"]},
    ),
    "sparse": (("release.csv",), {"person": "age", "item": "ill", "points": "1,2", "seed": 1}),
    "dictionary": (("people.csv",), {"column": "hashed", "pattern": ["p[0-9]"], "vary": ["case"]}),
    "membership": (("release.csv",), {"population": "people.csv", "on": ["age", "zip"]}),
    "composition": (
        ("release.csv", "release.csv"),
        {"known": "people.csv", "on": ["age"], "sensitive": ["ill"], "sure": "80%"},
    ),
    "singling-out": (
        ("release.csv",),
        {"source": "people.csv", "control": "people.csv", "guesses": 20, "seed": 1},
    ),
    "tracker": (
        ("people.csv",),
        {"person": "name = 'p3'", "value": "pay", "restrict": "10%", "round": 5.0, "seed": 1},
    ),
    "small-groups": (("people.csv",), {"by": ["zip"], "value": "pay", "dominance": "1:20%"}),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_pandas().to_csv("people.csv", index=False)
    RELEASE.to_pandas().to_csv("release.csv", index=False)
    return tmp_path


def command_words(options: dict[str, Any]) -> list[str]:
    """Return options as the command line writes them."""
    words: list[str] = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if name in ("knows", "pattern"):
            words += [word for one in value for word in (flag, one)]
        elif isinstance(value, dict):
            words += [flag, ",".join(f"{key}={one}" for key, one in value.items())]
        else:
            words += [flag, ",".join(value) if isinstance(value, list) else str(value)]
    return words


def without_speed(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for one in found:
        one["details"].pop("hashes_per_second", None)
    return found


@pytest.mark.parametrize("name", CALLS)
def test_python_and_the_command_line_find_the_same(name: str):
    targets, options = CALLS[name]
    ran = CliRunner().invoke(cli, ["attack", name, *targets, *command_words(options), "--json"])
    target = list(targets) if ATTACKS.get(name).target == "releases" else targets[0]
    found = discreet.attack(name, target, **options)
    assert without_speed([one.to_dict() for one in found]) == without_speed(json.loads(ran.stdout))
    assert len(found) > 0


def test_a_mechanism_is_attacked_without_a_target():
    found = discreet.attack("families", epsilon=1, size=3, trials=1000, seed=1)
    assert found[0].attack == "families"
    with pytest.raises(WrongUsage, match="on no table"):
        discreet.attack("families", "people.csv", epsilon=1, size=3)


def test_a_frame_is_attacked_as_a_file_is():
    found = discreet.attack("homogeneity", RELEASE.to_pandas(), quasi=["age"], sensitive=["ill"])
    written = discreet.attack("homogeneity", "release.csv", quasi=["age"], sensitive=["ill"])
    assert found[0].rate == written[0].rate


def test_a_frame_may_be_an_option_that_must_be_stated():
    known, release = PEOPLE.to_pandas(), RELEASE.to_pandas()
    found = discreet.attack("linkage", release, known=known, on=["age"], sensitive=["ill"])
    written = discreet.attack(
        "linkage", "release.csv", known="people.csv", on=["age"], sensitive=["ill"]
    )
    assert found[0].claimed == written[0].claimed


def test_answers_about_a_frame_are_rehearsed_without_a_budget():
    said: list[str] = []
    found = discreet.attack(
        "small-groups", PEOPLE, by=["zip"], epsilon=1, notify=said.append, policy=None
    )
    assert found.cautions == tuple(said)
    assert "Nothing of the real budget is spent" in said[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"knwon": "people.csv"}, r"no option 'knwon'\. Did you mean 'known'"),
        ({}, "needs known: What the adversary has"),
        ({"known": "people.csv", "threshold": 2}, "at most 1"),
        ({"known": "people.csv", "seed": -1}, "at least 0"),
        ({"known": ""}, "The name is empty"),
        ({"known": "people.csv", "tolerance": "lots"}, "no share"),
    ],
)
def test_a_wrong_option_is_explained(options: dict[str, Any], words: str):
    with pytest.raises(WrongUsage, match=words):
        discreet.attack("linkage", "release.csv", **options)


def test_an_unknown_attack_is_answered_with_a_near_one():
    with pytest.raises(WrongUsage, match="Did you mean 'linkage'"):
        discreet.attack("linkag", "release.csv")


def test_a_target_must_be_named():
    with pytest.raises(WrongUsage, match="needs a target"):
        discreet.attack("linkage", known="people.csv")


def test_a_column_that_synthetic_data_lacks_is_named():
    with pytest.raises(UnknownColumn, match="Did you mean 'age'"):
        discreet.attack(
            "linkability", "release.csv", source="people.csv", control="people.csv", first=["aeg"]
        )


def test_all_attacks_say_what_was_not_tried():
    found = discreet.attack.all("release.csv", quasi=["age", "zip"], sensitive=["ill"])
    assert "linkage" in found.not_tried
    assert "Not tried: linkage" in found._repr_html_()
    assert [one.advantage for one in found] == sorted((f.advantage for f in found), reverse=True)


def test_guessed_roles_are_a_caution():
    assert "were guessed" in discreet.attack("uniqueness", "release.csv").cautions[0]


def test_a_report_is_a_frame_and_plain_data_without_values_of_people():
    found = discreet.attack.all(
        "release.csv", quasi=["age", "zip"], sensitive=["ill"], known="people.csv", tolerance=0.01
    )
    frame = found.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["attack"]) == [one.attack for one in found]
    assert set(found.to_dict()) == {"findings", "not_tried", "cautions"}
    for text in (json.dumps(found.to_dict()), found._repr_html_(), frame.to_csv()):
        assert "HIV" not in text
        assert "p3" not in text


def test_names_are_those_of_the_registry():
    assert tuple(discreet.attack.names()) == tuple(spec.name for spec in ATTACKS.all())


@pytest.mark.parametrize("spec", ATTACKS.own(), ids=lambda spec: spec.name)
def test_an_attack_takes_its_options_and_says_what_they_mean(spec):
    parameters = inspect.signature(spec.run).parameters
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    named = {option.parameter or option.name for option in spec.options}
    required = {n for n, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    assert required <= named
    assert takes_any or named - required <= {"known", "on", "seed", "manifest"}
    for option in attack_options(spec).values():
        assert option.summary.endswith((".", ". May be repeated."))
    assert spec.description
    assert spec.examples
