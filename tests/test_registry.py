"""The registry: what discreet has, what installed packages add, and what a broken package breaks."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import discreet
from discreet import registry
from discreet.api.criteria import criteria_by_option
from discreet.cli.command import cli
from discreet.errors import BrokenExtension, InvalidPolicy, WrongUsage
from discreet.policy.load import parse_policy
from discreet.registry import ATTACKS, CRITERIA

SOUND = """
from discreet.registry import AttackSpec, OptionSpec


def run(given, *, step):
    from discreet.attacks.finding import make_finding

    return [
        make_finding(
            "rounding",
            target=given.label,
            verdict=f"Numbers are multiples of {step}.",
            targets=4,
            exposed=3,
            knowledge="the step.",
            remedy="another step.",
            details={"step": step},
        )
    ]


SPEC = AttackSpec(
    name="rounding",
    summary="sums of rounded numbers",
    target="release",
    run=run,
    options=(OptionSpec("step", "integer", "The step of rounding.", default=5, minimum=1),),
    run_all=True,
    examples=("discreet attack rounding sums.csv --step 10",),
)
OTHER = AttackSpec(
    name="misnamed", summary="another name than its entry point", target="release", run=run
)
"""
POLICY = """
tables:
  sums:
    tolerance: {rounding: 10%}
    columns: {town: quasi-identifier, sum: sensitive}
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a package with entry points on the path, as an installer does."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_installed_points", registry._installed_points.__wrapped__)
    for kind in (ATTACKS, CRITERIA):
        kind._found.clear()

    def write(package: str, code: str, group: str = "attacks", **points: str) -> None:
        (tmp_path / f"{package}.py").write_text(code, "utf-8")
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8"
        )
        lines = [f"{name} = {place}" for name, place in points.items()]
        (info / "entry_points.txt").write_text(
            "\n".join([f"[discreet.{group}]", *lines, ""]), "utf-8"
        )

    yield write
    for kind in (ATTACKS, CRITERIA):
        kind._found.clear()
    for name in ("sound", "second", "broken"):
        sys.modules.pop(name, None)


def test_an_attack_of_an_installed_package_is_found(install):
    install("sound", SOUND, rounding="sound:SPEC")
    assert "rounding" in ATTACKS
    assert ATTACKS.names()[-1] == "rounding"
    assert ATTACKS.get("rounding").summary == "sums of rounded numbers"
    assert ATTACKS.all()[-1].name == "rounding"


@pytest.fixture
def sums(install, tmp_path: Path) -> Path:
    """An installed attack called rounding, and a table to attack with its policy."""
    install("sound", SOUND, rounding="sound:SPEC")
    (tmp_path / "policy.yaml").write_text(POLICY, "utf-8")
    table = tmp_path / "sums.csv"
    table.write_text("town,sum\nx,10\nx,20\ny,30\ny,40\n", "utf-8")
    return table


def run_attack_command(*words: object) -> Result:
    return CliRunner().invoke(cli, ["attack", *map(str, words)])


def test_an_installed_attack_has_a_command_with_its_options(sums: Path):
    shown = run_attack_command("rounding", "--help").output
    assert "The step of rounding.  [default: 5; x>=1]" in shown
    assert "--tolerance SHARE" in shown
    ran = run_attack_command("rounding", sums, "--quasi", "town", "--step", 10, "--json")
    (found,) = json.loads(ran.stdout)
    assert (found["attack"], found["details"]) == ("rounding", {"step": 10})


def test_the_tolerance_of_an_installed_attack_is_stated_by_a_policy(sums: Path):
    policy = sums.with_name("policy.yaml")
    assert run_attack_command("rounding", sums, "--policy", policy).exit_code == 3
    policy.write_text(POLICY.replace("10%", "90%"), "utf-8")
    assert run_attack_command("rounding", sums, "--policy", policy).exit_code == 0


def test_an_installed_attack_is_one_of_all(sums: Path):
    ran = run_attack_command("all", sums, "--policy", sums.with_name("policy.yaml"), "--json")
    assert ran.exit_code == 3
    assert "rounding" in {found["attack"] for found in json.loads(ran.stdout)}


def test_an_installed_attack_is_called_from_python(sums: Path):
    assert discreet.attack.names()["rounding"] == "sums of rounded numbers"
    found = discreet.attack("rounding", sums, quasi=["town"], step=2, tolerance="10%")
    assert (found[0].details["step"], found.exceeds) == (2, True)
    assert "rounding" in {one.attack for one in discreet.attack.all(sums, quasi=["town"])}


def test_names_of_packages_are_known_without_importing_them(install):
    install("sound", SOUND, rounding="sound:SPEC")
    assert "rounding" in ATTACKS.names()
    assert "sound" not in sys.modules


def test_a_broken_package_is_named_and_breaks_nothing_else(install):
    install("broken", "raise RuntimeError('Alice')", guessing="broken:SPEC")
    with pytest.raises(BrokenExtension, match="'guessing' of the package broken") as raised:
        ATTACKS.get("guessing")
    assert "Alice" not in str(raised.value)
    assert "guessing" not in [spec.name for spec in ATTACKS.all()]
    assert list(ATTACKS.broken()) == ["guessing"]
    assert ATTACKS.get("linkage").name == "linkage"


def test_a_package_that_ends_the_program_when_it_is_imported_is_named(install):
    install("broken", "raise SystemExit(0)", guessing="broken:SPEC")
    assert "raised SystemExit" in ATTACKS.broken()["guessing"]


@pytest.mark.parametrize("points", [b"[discreet.attacks]\nno entry point\n", b"\xff\xfe["])
def test_a_package_with_damaged_metadata_breaks_nothing_else(
    install, tmp_path: Path, points: bytes
):
    install("sound", SOUND, rounding="sound:SPEC")
    install("damaged", "", guessing="damaged:SPEC")
    (path,) = tmp_path.rglob("damaged*.dist-info/entry_points.txt")
    path.write_bytes(points)
    assert "rounding" in ATTACKS
    assert "guessing" not in ATTACKS
    assert ATTACKS.get("rounding").name == "rounding"


def test_what_is_not_a_specification_of_that_name_is_refused(install):
    install("sound", SOUND, rounding="sound:OTHER")
    with pytest.raises(BrokenExtension, match="no AttackSpec called 'rounding'"):
        ATTACKS.get("rounding")


def test_two_packages_that_offer_one_name_are_both_named(install):
    install("sound", SOUND, rounding="sound:SPEC")
    install("second", SOUND, rounding="second:SPEC")
    with pytest.raises(BrokenExtension, match="packages second and sound offer"):
        ATTACKS.get("rounding")


def test_a_package_cannot_replace_what_discreet_has(install):
    install("sound", SOUND.replace("rounding", "linkage"), linkage="sound:SPEC")
    assert ATTACKS.names().count("linkage") == 1
    assert ATTACKS.get("linkage").tolerance == 0.05


def test_an_unknown_name_is_answered_with_a_near_one():
    with pytest.raises(WrongUsage, match=r"no attack 'linkag'\. Did you mean 'linkage'"):
        ATTACKS.get("linkag")


CLASHING = """
from discreet.criteria.specs.k_map import KMap
from discreet.registry import CriterionSpec


class Crowd(KMap):
    name = "crowd"


SPEC = CriterionSpec(Crowd, summary="…", option="k", option_summary="…", examples=("5",))
"""


def test_a_criterion_with_the_option_of_another_is_refused(install):
    install("sound", CLASHING, group="criteria", crowd="sound:SPEC")
    with pytest.raises(BrokenExtension, match="k-anonymity and crowd have the same option 'k'"):
        criteria_by_option()


def test_a_policy_that_names_a_criterion_of_a_broken_package_says_why(install):
    install("broken", "raise RuntimeError('Alice')", group="criteria", guessing="broken:SPEC")
    text = "tables: {t: {columns: {c: sensitive}, criteria: [{guessing: {column: c}}]}}"
    with pytest.raises(InvalidPolicy, match="'guessing' of the package broken cannot be used"):
        parse_policy(text)


@pytest.mark.parametrize("kind", ["ATTACKS", "CRITERIA", "METHODS"])
def test_reading_specifications_imports_nothing_heavy(run_python, kind: str):
    loaded = run_python(
        f"import sys; from discreet.registry import {kind}; assert {kind}.all();"
        "print([name for name in ('numpy', 'duckdb', 'sqlglot', 'pyarrow', 'click') if name in sys.modules])"
    )
    assert loaded == "[]"


@pytest.fixture
def run_python():
    import subprocess

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run
