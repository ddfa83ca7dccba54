"""Releases of the same people are remembered by their custodian, and put together with what comes next."""

from __future__ import annotations

import json
import multiprocessing
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from discreet.errors import RegistryFailed, RiskNotTolerated
from discreet.policy import model
from discreet.policy.model import KAnonymity
from discreet.release.anonymization import anonymize_source
from discreet.release.options import AnonymizeOptions
from discreet.release.registry import Registry, ReleaseSubject, make_subject, registry_folders

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.release.release import Release

AGES = [31, 32, 33, 51, 52, 53, 71, 72, 73]
PEOPLE = pa.table(
    {
        "age": AGES,
        "zip": ["1", "2", "1", "2", "1", "2", "1", "2", "1"],
        "ill": ["flu", "gout", "cold"] * 3,
        "job": list("abcdefghi"),
    }
)


def registry(folder: Path, table: str = "Table", **places: str) -> Registry:
    return Registry(
        ReleaseSubject(table, **(places or {"policy": "policy.yaml"})), (folder,), "2026-05-04"
    )


def publish(place: Path, known: Registry | None, **options: Any) -> Release:
    wanted = AnonymizeOptions(
        quasi=["age", "zip"], sensitive=["ill"], criteria=[KAnonymity(3)], **options
    )
    arguments: dict[str, Any] = {"options": wanted, "registry": known, "accept_risk": "a test"}
    return anonymize_source(PEOPLE, output=place, **arguments)


def test_an_earlier_release_is_found_wherever_it_went(tmp_path: Path):
    known = registry(tmp_path / "known")
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    publish(tmp_path / "here" / "a.csv", known, weights={"zip": 9.0})
    found = publish(tmp_path / "there" / "b.csv", known, weights={"age": 9.0})
    assert [one.output for one in found.history] == [str(tmp_path / "here" / "a.csv")]
    assert "composition" in [one.attack for one in found.findings]
    assert found.not_tried == ()


def test_an_earlier_release_is_tried_after_its_file_was_replaced_or_removed(tmp_path: Path):
    known = registry(tmp_path / "known")
    publish(tmp_path / "a.csv", known)
    (tmp_path / "a.csv").unlink()
    found = publish(tmp_path / "a.csv", known, weights={"age": 9.0})
    assert "composition" in [one.attack for one in found.findings]
    assert found.not_tried == ()


def test_an_earlier_release_whose_rows_are_lost_is_reported_in_the_verdict(tmp_path: Path):
    known = registry(tmp_path / "known")
    first = publish(tmp_path / "a.csv", known)
    (tmp_path / "known" / f"{first.id}.csv").unlink()
    (tmp_path / "a.csv").unlink()
    found = publish(tmp_path / "b.csv", known)
    assert found.not_tried == (str(tmp_path / "a.csv"),)
    assert "was not tried" in found.verdict
    assert found.to_dict()["not_tried"] == [str(tmp_path / "a.csv")]


def test_a_record_that_cannot_be_read_stops_the_next_release(tmp_path: Path):
    known = registry(tmp_path / "known")
    first = publish(tmp_path / "a.csv", known)
    (tmp_path / "known" / f"{first.id}.json").write_text("{", "utf-8")
    with pytest.raises(RegistryFailed, match="cannot be read as the record"):
        publish(tmp_path / "b.csv", known)
    assert not (tmp_path / "b.csv").exists()


def test_the_registry_is_for_its_owner_only(tmp_path: Path):
    folder = tmp_path / "known"
    made = publish(tmp_path / "a.csv", registry(folder))
    assert made.record is not None
    made.record.amend(files={"a": made.record.keyed_digest(tmp_path / "a.csv")})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("key", f"{made.id}.json"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    folder.chmod(0o755)
    with pytest.raises(RegistryFailed, match="can read the folder"):
        publish(tmp_path / "b.csv", registry(folder))


def test_what_was_refused_is_not_remembered(tmp_path: Path):
    known = registry(tmp_path / "known")
    publish(tmp_path / "a.csv", known)
    with pytest.raises(Exception, match="differs"):
        anonymize_source(
            PEOPLE,
            output=tmp_path / "b.csv",
            options=AnonymizeOptions(quasi=["age"], sensitive=["ill"], criteria=[KAnonymity(3)]),
            registry=known,
            accept_risk="a test",
            expected="0" * 64,
        )
    assert len(known.earlier()) == 1
    assert len([*(tmp_path / "known").iterdir()]) == 2


def test_a_dry_run_looks_at_earlier_releases_and_remembers_nothing(tmp_path: Path):
    known = registry(tmp_path / "known")
    publish(tmp_path / "a.csv", known)
    before = sorted((tmp_path / "known").iterdir())
    wanted = AnonymizeOptions(quasi=["age"], sensitive=["ill"], criteria=[KAnonymity(3)])
    found = anonymize_source(PEOPLE, options=wanted, registry=known)
    assert "composition" in [one.attack for one in found.findings]
    assert sorted((tmp_path / "known").iterdir()) == before


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (ReleaseSubject("people", "p.yaml", "b.csv"), True),
        (ReleaseSubject("others", "p.yaml", "a.csv"), True),
        (ReleaseSubject("others", None, "a.csv"), True),
        (ReleaseSubject("others", "p.yaml", "b.csv"), False),
        (ReleaseSubject("people", "q.yaml", "b.csv"), False),
        (ReleaseSubject("people"), False),
        (ReleaseSubject("others", "q.yaml", "b.csv", "1"), True),
        (ReleaseSubject("people", "q.yaml", "b.csv", "2"), False),
    ],
)
def test_releases_are_of_the_same_people_by_source_or_table_and_policy_or_id(
    other: ReleaseSubject, is_same: bool
):
    assert ReleaseSubject("people", "p.yaml", "a.csv", "1").is_same(other) is is_same
    assert other.is_same(ReleaseSubject("people", "p.yaml", "a.csv", "1")) is is_same


def test_a_registry_stands_beside_policy_and_source_whatever_they_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "data").mkdir()
    source, policy = tmp_path / "data" / "people.csv", tmp_path / "policy.yaml"
    source.write_text("age\n1\n", "utf-8")
    policy.write_text("", "utf-8")
    (tmp_path / "link.csv").symlink_to(source)
    folders = registry_folders(policy=policy, source=tmp_path / "link.csv")
    assert folders == (tmp_path / "discreet-releases", tmp_path / "data" / "discreet-releases")
    named = {
        make_subject("t", policy=policy, source=str(place)).source
        for place in (source, tmp_path / "link.csv", tmp_path / "data" / "p*.csv")
    }
    assert named == {str(source)}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    address = "postgresql://ann:secret@db/clinic?table=people"
    assert registry_folders(policy=None, source=address)[0].is_relative_to(tmp_path / "state")
    assert "secret" not in str(make_subject("t", policy=None, source=address))


def test_folders_above_the_registry_are_private_too(tmp_path: Path):
    publish(tmp_path / "one.csv", registry(tmp_path / "state" / "discreet" / "known"))
    made = [tmp_path / "state", tmp_path / "state" / "discreet"]
    assert [folder.stat().st_mode & 0o777 for folder in made] == [0o700, 0o700]


def _publish_alone(folder: Path, number: int) -> None:
    publish(folder / f"{number}.csv", registry(folder / "known"), weights={"age": number + 1.0})


def test_two_at_once_see_each_other(tmp_path: Path):
    """Each of three sees the others that were published before it: 0 + 1 + 2 in all."""
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=_publish_alone, args=(tmp_path, n)) for n in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0, 0]
    assert len(registry(tmp_path / "known").earlier()) == 3


def adult(shared_data: Path) -> pa.Table:
    path = shared_data / "adult_uci" / "adult_uci.csv"
    whole = csv.read_csv(path)
    whole = whole.rename_columns([name.strip() for name in whole.column_names])
    rows = np.random.default_rng(1).choice(whole.num_rows, 1_500, replace=False)
    return whole.take(rows).select(
        ["age", "sex", "race", "education", "hours-per-week", "occupation"]
    )


def test_two_releases_joined_on_kept_columns_single_people_out(shared_data: Path, tmp_path: Path):
    """Each keeps what the other generalizes; hours and occupation, in both as they are, join rows."""
    people, known = adult(shared_data), registry(tmp_path / "known")
    found = []
    for number, kept in enumerate(("age", "education", "sex")):
        wanted = AnonymizeOptions(
            quasi=["age", "sex", "race", "education"],
            sensitive=["occupation"],
            criteria=[KAnonymity(5)],
            weights={kept: 50.0},
            method="mondrian",
        )
        place = tmp_path / f"{number}.csv"
        made = anonymize_source(
            people, output=place, options=wanted, registry=known, accept_risk="a test"
        )
        joint = [one for one in made.findings if "one_candidate" in one.details]
        found.append(joint[0].details["one_candidate"] if joint else 0.0)
        assert joint == [] or joint[0].details["joined_by"] == ["occupation", "hours-per-week"]
    assert found[0] == 0 < 0.02 < found[1] <= found[2]


def test_what_releases_reveal_together_is_held_against_the_tolerance(tmp_path: Path):
    known = registry(tmp_path / "known", "people")
    roles = {"age": "quasi-identifier", "zip": "quasi-identifier", "ill": "sensitive"}
    columns = tuple(
        model.ColumnPolicy(name, model.ColumnRole(role)) for name, role in roles.items()
    )
    columns = (*columns, model.ColumnPolicy("job", model.ColumnRole.INSENSITIVE))
    table = model.TablePolicy("people", columns, criteria=(KAnonymity(3),))
    table = replace(table, tolerance={"default": 1.0, "composition": 0.0})
    policy = model.Policy({"people": table})
    arguments: dict[str, Any] = {"table": "people", "registry": known}
    first = AnonymizeOptions(weights={"zip": 50.0})
    anonymize_source(PEOPLE, policy, output=tmp_path / "a.csv", options=first, **arguments)
    second = AnonymizeOptions(weights={"age": 50.0})
    with pytest.raises(RiskNotTolerated, match="composition"):
        anonymize_source(PEOPLE, policy, output=tmp_path / "b.csv", options=second, **arguments)
    assert len(known.earlier()) == 1
    assert json.loads(next((tmp_path / "known").glob("*.json")).read_text())["output"].endswith(
        "a.csv"
    )


# --- Policies that call the columns of one table differently.


def crowd() -> pa.Table:
    chance = np.random.default_rng(3)
    return pa.table(
        {
            "sex": chance.choice(["F", "M"], 300),
            "age": chance.integers(20, 45, 300),
            "zip": [str(code) for code in chance.integers(1000, 1025, 300)],
            "ill": [f"d{code}" for code in chance.integers(0, 25, 300)],
        }
    )


def crowd_policy(*quasi: str, **changes: Any) -> model.Policy:
    roles = dict.fromkeys(("sex", "age", "zip"), model.ColumnRole.IDENTIFIER)
    roles |= dict.fromkeys(quasi, model.ColumnRole.QUASI_IDENTIFIER) | {
        "ill": model.ColumnRole.SENSITIVE
    }
    columns = tuple(model.ColumnPolicy(name, role) for name, role in roles.items())
    criteria = (KAnonymity(3), model.LDiversity("ill", 2))
    table = model.TablePolicy("p", columns, criteria=criteria, tolerance={"uniqueness": 1.0})
    return model.Policy({"p": replace(table, **changes)})


@pytest.mark.parametrize(
    ("first", "second"), [(("sex", "zip"), ("sex", "age")), (("zip",), ("age",))]
)
@pytest.mark.parametrize("is_recorded", [True, False])
def test_releases_whose_policies_differ_in_what_outsiders_know_are_put_together(
    tmp_path: Path, first: tuple[str, ...], second: tuple[str, ...], is_recorded: bool
):
    """Who knows sex, zip and age finds rows by zip in the one and by age in the other."""
    known = registry(tmp_path / "known", source="p.csv") if is_recorded else None
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    anonymize_source(crowd(), crowd_policy(*first), output=a, table="p", registry=known)
    earlier = () if is_recorded else (str(a),)
    arguments: dict[str, Any] = {"table": "p", "registry": known, "earlier": earlier}
    with pytest.raises(RiskNotTolerated, match="composition"):
        anonymize_source(crowd(), crowd_policy(*second), output=b, **arguments)
    assert not b.exists()
    result = anonymize_source(crowd(), crowd_policy(*second), **arguments)
    assert result.not_tried == ()


def test_a_release_is_known_by_the_id_of_its_table_after_policy_and_source_were_moved(
    tmp_path: Path,
):
    """The rows, too, are found where they are now."""
    before, after = tmp_path / "p1", tmp_path / "p2"
    known = registry(before / "known", policy="p1.yaml", source="p.csv")
    policy = crowd_policy("sex", "zip", id="abc123")
    anonymize_source(crowd(), policy, output=tmp_path / "a.csv", table="p", registry=known)
    before.rename(after)
    (tmp_path / "a.csv").unlink()
    moved = registry(after / "known", policy="p2.yaml", source="people-2026.csv")
    other = crowd_policy("sex", "age", id="abc123")
    with pytest.raises(RiskNotTolerated, match="composition"):
        anonymize_source(crowd(), other, output=tmp_path / "b.csv", table="p", registry=moved)
