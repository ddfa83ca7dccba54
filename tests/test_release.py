"""The built wheel: what it holds, that it installs and runs alone, and how a release is made."""

from __future__ import annotations

import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest
from scripts import release

ROOT = Path(__file__).parents[1]
PACKAGES = Path(sysconfig.get_path("purelib"))

pytestmark = pytest.mark.xdist_group("wheel")


def git(*arguments: str, cwd: Path) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    return release.run("git", *identity, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of its own, with the files as they are now, all committed."""
    folder = tmp_path_factory.mktemp("release") / "discreet"
    try:
        names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    except release.ReleaseRefused:
        pytest.skip("not a git repository")
    for name in names.split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "docs/", "bench/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    git("init", "--quiet", cwd=folder)
    git("config", "user.name", "Tester", cwd=folder)
    git("config", "user.email", "tester@example.org", cwd=folder)
    git("add", "--all", cwd=folder)
    git("commit", "--quiet", "--message", "All", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(repository: Path) -> Path:
    """The wheel of that repository."""
    return release.build_distributions(repository, repository / "dist")


def project_version(root: Path) -> str:
    (line,) = [
        line
        for line in (root / "pyproject.toml").read_text().splitlines()
        if line[:9] == "version ="
    ]
    return line.split('"')[1]


def test_the_wheel_describes_itself_as_the_project_does(wheel: Path, repository: Path):
    release.check_metadata(wheel, repository)


def test_the_wheel_holds_exactly_the_files_of_the_package(wheel: Path, repository: Path):
    release.check_files(wheel, repository)


@pytest.mark.parametrize(
    "name",
    [
        "discreet/py.typed",
        "discreet/data/hospital/patients.csv",
        "discreet/report/templates/page.css",
    ],
)
def test_types_data_and_templates_are_in_the_wheel(wheel: Path, name: str):
    assert name in zipfile.ZipFile(wheel).namelist()


def test_a_wheel_that_lacks_a_file_is_refused(wheel: Path, repository: Path, tmp_path: Path):
    other = tmp_path / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(other, "w") as part:
        for name in whole.namelist():
            if name != "discreet/py.typed":
                part.writestr(name, whole.read(name))
    with pytest.raises(release.ReleaseRefused, match=r"discreet/py\.typed"):
        release.check_files(other, repository)


def test_the_wheel_runs_in_an_environment_of_its_own(wheel: Path, repository: Path, tmp_path: Path):
    programs = release.install_beside(wheel, tmp_path / "venv", PACKAGES)
    release.check_run(programs, project_version(repository))


def test_an_installation_of_another_version_is_refused(wheel: Path, tmp_path: Path):
    programs = release.install_beside(wheel, tmp_path / "venv", PACKAGES)
    with pytest.raises(release.ReleaseRefused, match=r"expected 9\.9\.9"):
        release.check_run(programs, "9.9.9")


def test_the_version_stands_in_one_place_and_fragments_become_the_changelog(
    repository: Path, tmp_path: Path
):
    copy = tmp_path / "copy"
    git("clone", "--quiet", "--local", str(repository), str(copy), cwd=tmp_path)
    fragments = [path.read_text("utf-8").strip() for path in (copy / "changelog.d").glob("*.md")]
    release.set_version("9.9.9", copy)
    release.build_changelog("9.9.9", copy)
    changelog = (copy / "CHANGELOG.md").read_text("utf-8")
    assert project_version(copy) == "9.9.9"
    assert changelog.index("## 9.9.9") < changelog.index(fragments[0][:40])
    assert list((copy / "changelog.d").glob("*.md")) == []


@pytest.mark.parametrize("version", ["", "1", "v1.2.3", "1.2.3-final", "--help"])
def test_what_is_not_a_version_is_refused(version: str, repository: Path):
    with pytest.raises(release.ReleaseRefused, match="is not a version"):
        release.require_new_version(version, repository)


def test_a_tagged_version_is_refused(repository: Path):
    git("tag", "v8.8.8", cwd=repository)
    with pytest.raises(release.ReleaseRefused, match="tagged already"):
        release.require_new_version("8.8.8", repository)


def test_a_tree_with_changes_is_refused(repository: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    git("clone", "--quiet", "--local", str(repository), str(copy), cwd=tmp_path)
    (copy / "README.md").write_text("changed")
    with pytest.raises(release.ReleaseRefused, match=r"README\.md"):
        release.require_clean_tree(copy)


def test_make_release_without_a_version_is_refused():
    done = subprocess.run(
        ["make", "--dry-run", "release"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode != 0
    assert "VERSION=" in done.stderr
