"""The ranges of `pyproject.toml` are those that `python -m bench.versions` ran at both ends."""

from __future__ import annotations

from bench import versions
from bench.figures import FOLDER, read_results

MEASURED = read_results(FOLDER / "versions.json").measured


def test_every_declared_range_was_run():
    assert {row[0]: row[1] for row in MEASURED.rows[:-1]} == versions.declared_ranges()


def test_each_environment_has_every_library_of_its_extras():
    assert MEASURED.columns[2:] == tuple(one.name for one in versions.environments())
    assert [row[0] for row in MEASURED.rows[:-1] for end in row[2:4] if end == "–"] == []


def test_the_lowest_version_is_the_declared_one():
    lower = {
        row[0]: (row[1].split(",")[0].removeprefix(">="), row[2]) for row in MEASURED.rows[:-1]
    }
    # The first release of a series may have no wheel: it is the series that counts.
    assert {name for name, ends in lower.items() if not ends[1].startswith(ends[0])} == set()
