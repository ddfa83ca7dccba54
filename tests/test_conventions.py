"""The conventions that a test can check: formatting, lint, layers, sizes, names of hosts."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PACKAGE = ROOT / "src" / "discreet"
MODULES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 600  # past 400, ask whether a module is two ideas

# What a dependency is imported as, where that is not its name.
IMPORTED_AS = {
    "ipython": "IPython",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "argon2-cffi": "argon2",
    "psycopg": "psycopg",
    "pyjwt": "jwt",
    "python-pkcs11": "pkcs11",
    "pyyaml": "yaml",
    "scikit-learn": "sklearn",
    "vl-convert-python": "vl_convert",
}


# A file in it is loaded by DuckDB: the module itself is only looked up by its name.
LOOKED_UP = {"duckdb_extension_httpfs"}


@cache
def parse_module(path: Path) -> ast.Module:
    """Return the syntax tree of a module, which most of these tests look through."""
    return ast.parse(path.read_text("utf-8"))


def tracked_files() -> list[Path]:
    """Return the files of the repository as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    if listed.returncode:
        pytest.skip("not a git repository")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


@pytest.mark.parametrize(
    "tool",
    [("ruff", "format", "--check", "."), ("ruff", "check", "."), ("lint-imports",)],
    ids=" ".join,
)
def test_the_tools_agree(tool: tuple[str, ...]):
    name, *arguments = tool
    program = BIN / name
    if not program.exists():
        pytest.skip(f"{name} is not installed: make setup")
    done = subprocess.run(
        [program, *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, f"`{' '.join(tool)}` says:\n{done.stdout}{done.stderr}"


def test_every_package_states_its_purpose_in_one_line():
    silent = [
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("__init__.py")
        if not (ast.get_docstring(parse_module(path)) or "").split("\n")[0].strip()
    ]
    assert silent == []


def test_every_folder_of_modules_is_a_package():
    homeless = {path.parent for path in MODULES if not (path.parent / "__init__.py").exists()}
    assert sorted(str(folder.relative_to(ROOT)) for folder in homeless) == []


def test_no_module_is_long():
    lengths = {str(path.relative_to(ROOT)): path.read_text("utf-8").count("\n") for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_no_module_has_a_name_without_meaning():
    banned = {"utils", "util", "helpers", "helper", "misc", "common", "manager"}
    assert [str(path) for path in MODULES if banned & {path.stem, *path.parts}] == []


def test_nothing_below_the_command_line_prints():
    printing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if "cli" not in path.parts
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("print", "input")
    ]
    assert printing == []


def test_no_file_names_a_registry_of_packages():
    """Machines install from the mirror they were given; an address in a file would overrule it."""
    index = re.compile(
        r"://[^\s\"')]*/simple\b"
        r"|^\s*(--(extra-)?index-url|--find-links|index-url\s*=|index_url\s*=)"
        r"|^\s*\[\[tool\.uv\.index\]\]",
        re.MULTILINE,
    )
    found = []
    for path in tracked_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in index.finditer(text)]
    assert found == []


def test_engines_are_asked_for_what_they_can_do_not_which_one_they_are():
    classes = {"DuckDB", "DuckDBReader", "PostgreSQL", "Spark"}
    classes |= {"ServedDuckDB", "ServedPostgres", "ServedSpark"}
    found = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in MODULES
        if "engines" not in path.relative_to(PACKAGE).parts
        for node in ast.walk(parse_module(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)} & classes
    ]
    assert found == []


def test_nothing_is_left_to_do_later():
    later = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path.suffix in (".py", ".md", ".toml", ".j2", ".css", ".yaml")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if later.search(line)
    ]
    assert found == []


def imported_names() -> set[str]:
    """Return the top-level packages that some module of discreet imports."""
    names: set[str] = set()
    for path in MODULES:
        for node in ast.walk(parse_module(path)):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Constant) and node.value in LOOKED_UP:
                names.add(node.value)
    return names


def module_name(path: Path) -> str:
    """Return the dotted name of a module of discreet."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, known: Set[str]) -> set[str]:
    """Return the modules of discreet that one imports: at run time, in a function, or for types."""
    found: set[str] = set()
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names if names <= known else {*names, node.module}
    return (found & known) - {module_name(path)}


def reachable_modules(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that one imports, directly or through others."""
    found: set[str] = set()
    ahead = [name]
    while ahead:
        new = imports[ahead.pop()] - found
        found |= new
        ahead += new
    return found


def test_no_modules_import_each_other_in_a_circle():
    paths = {module_name(path): path for path in MODULES}
    imports = {name: imported_modules(path, paths.keys()) for name, path in paths.items()}
    circular = {name for name in imports if name in reachable_modules(name, imports)}
    assert circular == set()


def declared() -> dict[str, str]:
    """Return every dependency a user may install, by the name it is imported as."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"]]
    wanted += [item for extra in project["optional-dependencies"].values() for item in extra]
    names = [re.split(r"[\[<>=!~; ]", item)[0].lower() for item in wanted]
    return {
        IMPORTED_AS.get(name, name.replace("-", "_")): name for name in names if name != "discreet"
    }


@pytest.mark.xdist_group("conventions")
def test_tests_of_one_group_share_a_worker(request: pytest.FixtureRequest):
    """Spark starts once and the demo runs once, if the runner knows groups."""
    if not os.environ.get("PYTEST_XDIST_WORKER"):
        pytest.skip("one process has all groups")
    assert request.node.nodeid.endswith("@conventions")


def test_every_dependency_is_imported():
    assert sorted(set(declared()) - imported_names()) == []


def test_every_import_is_declared():
    # These come with a declared one and are part of its interface: scikit-learn, jinja2, pydantic, pyspark, fastapi.
    companions = {"joblib", "markupsafe", "pydantic_core", "py4j", "starlette"}
    known = {*declared(), *companions, *sys.stdlib_module_names, "discreet"}
    assert sorted(imported_names() - known) == []
