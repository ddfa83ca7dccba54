"""The public surface of the package: its names, their words, and what they hand out."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet
from discreet.errors import RiskNotTolerated, WrongUsage

FUNCTIONS = ("anonymize", "assess", "check", "deidentify", "draft_policy", "open", "open_table")
CLASSES = ("Answer", "Assessment", "Curator", "Policy", "Release")
OTHERS = ("errors", "load_policy")
# How a source is read, under the same names wherever a source is read.
READING = ("delimiter", "encoding", "memory")

PEOPLE = {"age": [31, 32, 47, 48], "ill": ["flu", "gout", "gout", "flu"]}
ROLES = {"quasi": ["age"], "sensitive": ["ill"]}


def test_the_public_names_are_these():
    assert sorted(discreet.__all__) == sorted((*FUNCTIONS, *CLASSES, *OTHERS))
    assert dir(discreet) == sorted(discreet.__all__)


@pytest.mark.parametrize("name", [*FUNCTIONS, "load_policy", *CLASSES])
def test_a_public_name_says_what_it_is(name: str):
    assert inspect.getdoc(getattr(discreet, name))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_shows_an_example_and_types_its_arguments(name: str):
    function = getattr(discreet, name)
    assert ">>> " in (inspect.getdoc(function) or "")
    signature = inspect.signature(function)
    assert signature.return_annotation is not inspect.Signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "open_table"])
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
    assert release.output is None


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
    assert release.manifest == str(tmp_path / "release.json")
    assert release.to_arrow().num_rows == 4


def test_an_option_of_another_method_is_refused():
    with pytest.raises(WrongUsage, match="tokens belongs to the method pseudonymize"):
        discreet.deidentify(pa.table(PEOPLE), method="safe-harbor", tokens=["ill"])
