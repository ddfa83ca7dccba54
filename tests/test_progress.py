"""Progress of long work: phases in order, each from nothing to its end, and no long silence between reports."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import discreet
from discreet.api.progress import show_progress
from discreet.cli.output import phase_bars
from discreet.engines.duckdb import DuckDB

ROWS = 400
PEOPLE = pa.table(
    {
        "name": [f"Ann {i}" for i in range(ROWS)],
        "age": [20 + i * 7 % 60 for i in range(ROWS)],
        "town": [f"T{i * 13 % 9}" for i in range(ROWS)],
        "sex": ["FM"[i % 2] for i in range(ROWS)],
        "ill": [("flu", "gout", "cold", "hiv")[i * 11 % 4] for i in range(ROWS)],
    }
)
ROLES: dict[str, Any] = {"quasi": ["age", "town", "sex"], "sensitive": ["ill"]}
METHODS = ("local", "full-domain", "mondrian", "cells")
Report = tuple[str, int, int]


def anonymize(folder: Path, method: str, progress: Callable[..., None]) -> None:
    discreet.anonymize(
        PEOPLE,
        **ROLES,
        k=3,
        l=2,
        method=method,
        suppress=0.5,
        output=folder / "out.csv",
        accept_risk="a test",
        progress=progress,
    )


def run_verb(verb: str, folder: Path, progress: Callable[..., None]) -> None:
    if verb == "assess":
        discreet.assess(PEOPLE, **ROLES, progress=progress)
    elif verb == "attack all":
        discreet.attack.all(PEOPLE, **ROLES, progress=progress)
    elif verb == "synthesize":
        discreet.synthesize(
            PEOPLE.select(["age", "sex", "ill"]),
            bounds={"age": (0, 99)},
            values={"sex": ["F", "M"], "ill": ["flu", "gout", "cold", "hiv"]},
            method="fast",
            output=folder / "out.csv",
            accept_risk="a test",
            progress=progress,
        )
    elif verb == "deidentify":
        place = folder / "out.csv"
        discreet.deidentify(
            PEOPLE, method="safe-harbor", output=place, accept_risk="a test", progress=progress
        )
    else:
        anonymize(folder, verb, progress)


VERBS = ("assess", "attack all", "deidentify", "synthesize", *METHODS)


@pytest.fixture(scope="module", params=VERBS)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Report | str]:
    """What a verb reports, and each statement of the engine between."""
    seen: list[Report | str] = []
    plain = DuckDB._call_again  # pyright: ignore[reportPrivateUsage]

    def counted(self: DuckDB, *arguments: Any) -> Any:
        seen.append("statement")
        return plain(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDB, "_call_again", counted)
        folder = tmp_path_factory.mktemp("progress")
        run_verb(request.param, folder, lambda *report: seen.append(report))
    return seen


def reports(recorded: list[Report | str]) -> list[Report]:
    return [one for one in recorded if isinstance(one, tuple)]


def test_phases_follow_one_another_and_have_names_of_their_own(recorded: list[Report | str]):
    phases = [name for name, _ in groupby(reports(recorded), key=lambda report: report[0])]
    assert len(phases) == len(set(phases)) >= 2
    assert all(phases)


def test_each_phase_goes_from_nothing_to_its_end(recorded: list[Report | str]):
    for _, group in groupby(reports(recorded), key=lambda report: report[0]):
        steps = [(done, total) for _, done, total in group]
        shares = [done / total for done, total in steps]
        assert (steps[0][0], shares[-1]) == (0, 1.0)
        assert shares == sorted(set(shares))


def test_no_phase_is_over_while_work_goes_on(recorded: list[Report | str]):
    """Every statement of the engine runs while a phase is below its end."""
    is_open, outside = False, 0
    for one in recorded:
        if isinstance(one, tuple):
            is_open = one[1] < one[2]
        else:
            outside += not is_open
    assert outside == 0


def test_no_silence_is_longer_than_a_third_of_the_work(recorded: list[Report | str]):
    silences = [
        len(list(group))
        for key, group in groupby(recorded, key=lambda one: one == "statement")
        if key
    ]
    assert max(silences) <= max(sum(silences) / 3, 12)


def test_progress_in_plain_text_names_phases_and_their_ends(tmp_path: Path):
    out = io.StringIO()
    anonymize(tmp_path, "mondrian", show_progress(out))
    lines = out.getvalue().splitlines()
    assert [line for line in lines if line.endswith(" …")][:2] == ["opening …", "reading …"]
    assert lines[-1] == "utility: done"


def test_bars_on_a_terminal_end_at_their_end():
    out = io.StringIO()
    with phase_bars(Console(file=out, force_terminal=True, width=100)) as step:
        for done in range(4):
            step("refinement", done, 4)
        step("refinement", 4, 4)
        step("writing", 0, 1)
        step("writing", 1, 1)
    assert out.getvalue().count("100%") >= 2
    assert "left" in out.getvalue()
