"""`discreet attack all` and what every method of `attack` shares, from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from discreet.cli.attack import command
from discreet.registry import ATTACKS

if TYPE_CHECKING:
    from pathlib import Path

ROWS = ["[30-39],flu", "[30-39],flu", "[40-49],flu", "[40-49],gout", "[50-59],gout", "[50-59],flu"]
ROLES = ("--quasi", "age", "--sensitive", "ill")


@pytest.fixture
def release(folder: Path) -> str:
    (folder / "release.csv").write_text("\n".join(["age,ill", *ROWS, ""]), "utf-8")
    (folder / "known.csv").write_text("name,age\nAnn,31\nBob,44\nEve,77\n", "utf-8")
    return "release.csv"


def test_all_that_a_table_admits_is_tried_and_the_worst_comes_first(release: str, discreet):
    ran = discreet("attack", "all", release, *ROLES, "--known", "known.csv", "--json")
    assert ran.code == 0
    advantages = [found["advantage"] for found in ran.json]
    assert advantages == sorted(advantages, reverse=True)
    assert {"homogeneity", "linkage", "uniqueness", "dictionary"} <= {f["attack"] for f in ran.json}
    assert "Not tried: composition – no earlier release (--earlier)" in ran.err


def test_what_is_not_given_is_reported_as_not_tried(release: str, discreet):
    ran = discreet("attack", "all", release, *ROLES)
    assert "Not tried: linkage – no list of known people was given (--known)" in ran.err
    assert "Ann" not in ran.out


def test_an_earlier_release_is_tried_together(release: str, discreet, folder: Path):
    rows = ['"{31, 44}",flu', '"{31, 44}",gout', "[45-59],cold", "[45-59],gout"]
    (folder / "earlier.csv").write_text("\n".join(["age,ill", *rows, ""]), "utf-8")
    words = ("--known", "known.csv", "--earlier", "earlier.csv", "--json")
    ran = discreet("attack", "all", release, *ROLES, *words)
    assert "composition" in {found["attack"] for found in ran.json}


def test_earlier_releases_are_joined_by_every_column_and_without_a_sensitive_one(
    discreet, folder: Path
):
    (folder / "known.csv").write_text("age\n31\n44\n45\n59\n", "utf-8")
    texts = {
        "new.csv": 'age,job\n"[31, 44]",a\n"[31, 44]",b\n"[45, 59]",c\n"[45, 59]",d\n',
        "old.csv": 'age,job\n"{31, 45}",a\n"{31, 45}",c\n"{44, 59}",b\n"{44, 59}",d\n',
        "older.csv": "age,job\n" + "".join(f'"[31, 59]",{job}\n' for job in "abcd"),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
    words = ("--known", "known.csv", "--earlier", "old.csv", "--earlier", "older.csv", "--json")
    ran = discreet("attack", "all", "new.csv", "--quasi", "age", *words)
    (found,) = [one for one in ran.json if one["attack"] == "composition"]
    assert found["details"]["joined_by"] == ["job"]
    assert (found["details"]["one_candidate"], found["details"]["releases"]) == (1.0, 3)


@pytest.mark.parametrize(("tolerance", "code"), [("50%", 0), ("0.1", 3)])
def test_a_finding_beyond_tolerance_exits_with_three(
    release: str, discreet, tolerance: str, code: int
):
    ran = discreet("attack", "homogeneity", release, *ROLES, "--tolerance", tolerance, "--json")
    assert (ran.code, ran.json[0]["exceeds"]) == (code, code == 3)


def test_the_policy_says_what_is_tolerated(release: str, discreet, folder: Path):
    text = "tables:\n  release:\n    tolerance: {homogeneity: 0}\n"
    text += "    columns: {age: quasi-identifier, ill: sensitive}\n"
    (folder / "policy.yaml").write_text(text, "utf-8")
    assert discreet("attack", "homogeneity", release, "--policy", "policy.yaml").code == 3
    assert discreet("attack", "inference", release, "--policy", "policy.yaml").code == 0


def test_a_report_shows_no_example(release: str, discreet, folder: Path):
    ran = discreet("attack", "homogeneity", release, *ROLES, "--report", "page.html")
    assert "For your eyes only" in ran.out
    page = (folder / "page.html").read_text("utf-8")
    assert "homogeneity" in page
    assert "[30-39]" not in page


def test_a_share_that_is_none_is_reported(release: str, discreet):
    ran = discreet("attack", "homogeneity", release, *ROLES, "--tolerance", "lots")
    assert ran.code == 2
    assert "'lots' is no share. Write 0.05 or 5%." in ran.err


def test_a_method_that_is_misspelled_is_reported(discreet):
    ran = discreet("attack", "linkag", "x.csv")
    assert ran.code == 2
    assert "Did you mean 'linkage'?" in ran.err


@pytest.mark.parametrize("method", ["all", *ATTACKS])
def test_every_method_explains_itself_and_prints_findings_for_machines(method: str):
    group = command
    found = group.get_command(click.Context(group), method)
    assert found is not None
    assert found.help
    assert "Examples:" in (found.epilog or "")
    options = {name for parameter in found.params for name in parameter.opts}
    assert {"--json", "--report", "--tolerance", "--policy"} <= options
