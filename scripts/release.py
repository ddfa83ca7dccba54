"""Make a release: `make release VERSION=1.2.3`. Nothing is pushed or uploaded.

The tree must be clean. The version is written into `pyproject.toml`, the only place that holds it; the
fragments of `changelog.d/` move into `CHANGELOG.md`; wheel and source distribution are built, and the
wheel is checked: its metadata, its files, and that it installs and runs in a new environment with only
the dependencies that it declares. Then the release is committed and tagged.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

ROOT = Path(__file__).resolve().parents[1]
TOOLS = Path(sys.executable).parent
# What a wheel holds besides the files that git knows: its metadata, and what `make docs` made.
OTHER_FILES = re.compile(r"\.dist-info/|^discreet/data/site/")
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


class ReleaseRefused(Exception):
    """The release cannot be made as things are; the message says what to do."""


def release(version: str, *, root: Path = ROOT) -> None:
    """Make the release `version` of the repository `root`, up to a commit and a tag."""
    require_new_version(version, root)
    require_clean_tree(root)
    print(f"Setting version {version} and building the changelog")
    set_version(version, root)
    build_changelog(version, root)
    print("Building the distributions")
    wheel = build_distributions(root, root / "dist")
    check_metadata(wheel, root)
    check_files(wheel, root)
    print("Installing the wheel in a new environment")
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as folder:
        check_run(install_with_dependencies(wheel, Path(folder) / "venv"), version)
    run("git", "commit", "--quiet", "--all", "--message", f"Release {version}", cwd=root)
    run("git", "tag", "--annotate", f"v{version}", "--message", f"discreet {version}", cwd=root)
    print(f"Committed and tagged v{version}; the distributions are in dist/.")
    print(f"Next: read `git show v{version}`, then push the commit and the tag and upload dist/*.")


def require_new_version(version: str, root: Path) -> None:
    """Refuse what is not a version, and one that has a tag already."""
    if not VERSION.fullmatch(version):
        raise ReleaseRefused(f"'{version}' is not a version. Write VERSION=1.2.3 or 1.2.3rc1.")
    if run("git", "tag", "--list", f"v{version}", cwd=root).strip():
        raise ReleaseRefused(f"v{version} is tagged already. Take the next version.")


def require_clean_tree(root: Path) -> None:
    """Refuse a tree with changes that are not committed: a release is made of a commit."""
    changed = run("git", "status", "--porcelain", cwd=root)
    if changed:
        raise ReleaseRefused(f"Commit or stash these changes first:\n{changed}")


def set_version(version: str, root: Path) -> None:
    """Write the version into `pyproject.toml`."""
    path = root / "pyproject.toml"
    text, count = re.subn(
        r'^version = "[^"]*"$',
        f'version = "{version}"',
        path.read_text("utf-8"),
        flags=re.MULTILINE,
    )
    if count != 1:
        raise ReleaseRefused(f"{path} has {count} lines `version = …`; it must have one.")
    path.write_text(text, "utf-8")


def build_changelog(version: str, root: Path) -> None:
    """Move the fragments of `changelog.d/` into `CHANGELOG.md`."""
    if not any((root / "changelog.d").glob("*.md")):
        raise ReleaseRefused("changelog.d/ is empty: nothing has changed that users notice.")
    run(TOOLS / "towncrier", "build", "--yes", "--version", version, cwd=root)


def build_distributions(root: Path, out: Path) -> Path:
    """Build source distribution and, from it, the wheel; return the wheel's path."""
    if out.exists():
        shutil.rmtree(out)
    run(
        *(TOOLS / "uv", "build", "--quiet", "--offline", "--no-build-isolation"),
        *("--python", sys.executable, "--out-dir", out, root),
        cwd=root,
    )
    (wheel,) = out.glob("*.whl")
    return wheel


def check_metadata(wheel: Path, root: Path) -> None:
    """Refuse a wheel that says something else of itself than `pyproject.toml`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = read_metadata(wheel)
    expected = {
        "Name": [project["name"]],
        "Version": [project["version"]],
        "Summary": [project["description"]],
        "License-Expression": [project["license"]],
        "License-File": project["license-files"],
        "Requires-Python": [project["requires-python"]],
        "Provides-Extra": sorted(project["optional-dependencies"]),
        "Description-Content-Type": ["text/markdown"],
    }
    found = {name: sorted(metadata.get_all(name, [])) for name in expected}
    if found != expected:
        raise ReleaseRefused(f"The wheel's metadata are {found}, expected {expected}.")


def read_metadata(wheel: Path) -> Message:
    """Return the metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def check_files(wheel: Path, root: Path) -> None:
    """Refuse a wheel that holds other files than the repository has in `src/discreet`, and the site."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if not OTHER_FILES.search(name)}
    listed = run("git", "ls-files", "-z", "src/discreet", cwd=root).split("\0")
    expected = {name.removeprefix("src/") for name in listed if name}
    if packed != expected:
        raise ReleaseRefused(
            f"The wheel lacks {sorted(expected - packed)} and should not hold {sorted(packed - expected)}."
        )


def install_with_dependencies(wheel: Path, folder: Path) -> Path:
    """Install a wheel and what it declares in a new environment; return the folder of its programs."""
    programs = _make_environment(folder)
    run(TOOLS / "uv", "pip", "install", "--quiet", "--python", programs / "python", wheel)
    return programs


def install_beside(wheel: Path, folder: Path, packages: Path) -> Path:
    """Install a wheel alone in a new environment that borrows its dependencies from `packages`.

    Python does not follow the `.pth` files of a folder that a `.pth` file names, so that an editable
    installation of discreet in `packages` is not seen.
    """
    programs = _make_environment(folder)
    uv = (TOOLS / "uv", "pip", "install", "--quiet", "--offline", "--no-deps")
    run(*uv, "--python", programs / "python", wheel)
    own = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    Path(own.strip(), "borrowed.pth").write_text(f"{packages}\n", "utf-8")
    return programs


def check_run(programs: Path, version: str) -> None:
    """Refuse an installation that is not of this version, comes from elsewhere, or does not run."""
    here = programs.parent
    place = run(programs / "python", "-c", "import discreet; print(discreet.__file__)", cwd=here)
    if not Path(place.strip()).is_relative_to(here):
        raise ReleaseRefused(f"discreet is imported from {place.strip()}, not from {here}.")
    printed = run(programs / "discreet", "--version", cwd=here).strip()
    if printed != f"discreet {version}":
        raise ReleaseRefused(f"`discreet --version` prints '{printed}', expected {version}.")
    table = Path(place.strip()).parent / "data" / "hospital" / "patients.csv"
    assess = (
        programs / "discreet",
        "assess",
        table,
        "--quasi",
        "birth_date,sex,postcode",
        "--json",
    )
    found = json.loads(run(*assess, cwd=here))
    if found["rows"] != table.read_text("utf-8").count("\n") - 1:
        raise ReleaseRefused(
            f"`discreet assess` counted {found['rows']} rows in the bundled table."
        )


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Run a program and return what it printed; a failure shows all of it."""
    # The environment's own installation is meant, not the tree beside this script.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        words = " ".join(str(word) for word in command)
        raise ReleaseRefused(f"`{words}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _make_environment(folder: Path) -> Path:
    run(TOOLS / "uv", "venv", "--quiet", "--offline", "--python", sys.executable, folder)
    return folder / ("Scripts" if os.name == "nt" else "bin")


if __name__ == "__main__":
    try:
        release(*sys.argv[1:2] or [""])
    except ReleaseRefused as error:
        sys.exit(
            f"{error}\nNo release was made. `git restore --staged --worktree .` undoes what was begun."
        )
