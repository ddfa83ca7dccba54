"""The public surface of the package: its names, their words, and what they hand out."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.answer.curator import Curator
from discreet.errors import RiskNotTolerated, WrongUsage

# Functions that read a table of people, by the same options.
READERS = (
    *(
        "anonymize",
        "assess",
        "attack",
        "check",
        "choose_factor",
        "collect",
        "deidentify",
        "draft_policy",
        "open",
    ),
    *(
        "explain_factor",
        "explain_learning",
        "explain_statistics",
        "explain_synthesis",
        "explain_tables",
        "learn",
        "reidentify",
        "statistics",
        "synthesize",
        "synthesize_tables",
    ),
)
FUNCTIONS = (
    *(*READERS, "budget", "estimate_reports", "load_policy", "open_table", "serve"),
    *("load_model", "sample", "sample_and_aggregate", "sample_tables", "show_progress"),
    "write_report",
)
CLASSES = (
    *("Answer", "Assessment", "CollectedReports", "Curator", "Policy", "Release", "RunningServer"),
    "WorkloadAnswer",
)
MODULES = ("epsilon", "errors", "policy")
# How a source is read, under the same names wherever a source is read.
READING = ("delimiter", "encoding", "memory")

PEOPLE = {"age": [31, 32, 47, 48], "ill": ["flu", "gout", "gout", "flu"]}
ROLES = {"quasi": ["age"], "sensitive": ["ill"]}


def test_the_public_names_are_these():
    listed = (*FUNCTIONS, *CLASSES, *MODULES, "__version__")
    assert sorted(discreet.__all__) == sorted(listed)
    assert dir(discreet) == sorted(discreet.__all__)


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES, *MODULES])
def test_a_public_name_says_what_it_is(name: str):
    assert inspect.getdoc(getattr(discreet, name))


PUBLIC = [
    *(getattr(discreet, name) for name in FUNCTIONS),
    *(getattr(discreet.epsilon, name) for name in discreet.epsilon.__all__),
    *(getattr(Curator, name) for name in ("ask", "budget", "explain", "limits", "register")),
    *(getattr(discreet.policy, name) for name in discreet.policy.__all__ if name.islower()),
    discreet.attack.all,
    discreet.attack.names,
]


@pytest.mark.parametrize("function", PUBLIC, ids=lambda one: getattr(one, "__qualname__", None))
def test_a_public_function_shows_an_example_and_types_its_arguments(function: Callable[..., Any]):
    assert ">>> " in (inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    assert all(p.annotation is not p.empty for p in parameters)


PUBLIC_CLASSES = [
    *(getattr(discreet, name) for name in CLASSES),
    *(getattr(discreet.policy, name) for name in discreet.policy.__all__ if not name.islower()),
]


@pytest.mark.parametrize("kind", PUBLIC_CLASSES, ids=lambda kind: kind.__name__)
def test_a_public_class_shows_an_example(kind: type):
    assert ">>> " in (inspect.getdoc(kind) or "")


def test_an_assessment_is_a_frame_with_a_row_for_each_column():
    found = discreet.assess(pa.table(PEOPLE), **ROLES)
    assert list(found.to_pandas()["column"]) == [one.column for one in found.columns] != []


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    assert discreet.__version__ == project["project"]["version"]


@pytest.mark.parametrize("name", READERS)
def test_a_source_is_read_by_the_same_options_everywhere(name: str):
    assert set(READING) <= set(inspect.signature(getattr(discreet, name)).parameters)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, discreet; print(sorted({'duckdb', 'numpy', 'pyarrow'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_release_hands_out_the_kind_of_frame_that_came_in(make: type):
    frame = make(PEOPLE)
    release = discreet.anonymize(frame, **ROLES, k=2, l=2)
    assert type(release.frame) is type(frame)
    assert release.to_arrow().column_names == ["age", "ill"]
    assert release.to_pandas().shape == release.to_polars().shape == (4, 2)
    assert release.findings
    assert (release.output, release.sha256) == (None, None)


def test_a_release_in_memory_has_the_manifest_that_a_written_one_has(tmp_path: Path):
    frame = pd.DataFrame(PEOPLE)
    frame.to_csv(tmp_path / "people.csv", index=False)
    in_memory = discreet.anonymize(frame, **ROLES, k=2, l=2).manifest_content
    written = discreet.anonymize(
        tmp_path / "people.csv", **ROLES, k=2, l=2, output=tmp_path / "out.csv"
    )
    assert written.manifest_content == json.loads(
        (tmp_path / "out.csv.release.json").read_text("utf-8")
    )
    assert in_memory is not None
    file = written.manifest_content or {}
    assert in_memory["policy"]["tables"]["DataFrame"] == file["policy"]["tables"]["people"]
    assert in_memory["release"]["criteria"] == file["release"]["criteria"]
    assert json.loads(json.dumps(in_memory)) == in_memory


def test_rows_in_memory_are_refused_as_written_ones_are():
    shared = pa.table({"age": [31, 32, 47, 48], "ill": ["HIV", "HIV", "flu", "gout"]})
    with pytest.raises(RiskNotTolerated):
        discreet.anonymize(shared, **ROLES, k=2)


def test_a_dry_run_has_no_rows():
    release = discreet.anonymize(pa.table(PEOPLE), **ROLES, k=2, l=2, dry_run=True)
    with pytest.raises(WrongUsage, match="nowhere"):
        release.to_arrow()


def test_a_representation_of_a_release_has_no_label():
    release = discreet.anonymize(pa.table(PEOPLE), **ROLES, k=2, l=2)
    assert "[31" not in repr(release)


def test_a_release_that_is_written_has_its_manifest_and_its_rows(tmp_path: Path):
    source, output = tmp_path / "people.csv", tmp_path / "out.csv"
    pd.DataFrame(PEOPLE).to_csv(source, index=False)
    release = discreet.anonymize(source, **ROLES, k=2, l={"ill": 2}, output=output)
    assert release.manifest == str(tmp_path / "out.csv.release.json")
    assert release.to_arrow().num_rows == 4


def test_an_option_of_another_method_is_refused():
    with pytest.raises(WrongUsage, match="tokens belongs to the method pseudonymize"):
        discreet.deidentify(pa.table(PEOPLE), method="safe-harbor", tokens=["ill"])
