"""Attacks on a published table find the same on every engine, and reveal no values."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from discreet.api.attack import attack
from discreet.attacks.all_attacks import AttackInput, AttackReport, attack_all
from discreet.attacks.classes.histograms import read_classes
from discreet.attacks.classes.homogeneity import find_homogeneity
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Table
from discreet.engines.postgres import PostgreSQL
from discreet.engines.scratch import ScratchEngine
from discreet.measure.roles import bind_roles

if TYPE_CHECKING:
    from discreet.attacks.finding import Finding

SECRETS = ("influenza", "gastritis", "acné")
RELEASE = pa.table(
    {
        "age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)", "[40, 50)", "*"] * 4,
        "born": ["1990s", "1990s", "1980s", "198*", "1970s", None] * 4,
        "ill": ["influenza", "influenza", "gastritis", "acné", "influenza", "acné"] * 4,
        "pay": [1000, 1000, 2000, 9000, 3000, 4000] * 4,
    }
)
EARLIER = pa.table(
    {"age": ["[20, 25)", "[25, 45)", "[25, 45)"], "ill": ["influenza", "gastritis", "influenza"]}
)
KNOWN = pa.table(
    {
        "name": ["Zebulon", "Quackenbush", "Absent", "Missing"],
        "age": pa.array([22, 34, 77, None]),
        "born": [dt.date(1992, 5, 1), dt.date(1984, 2, 3), dt.date(1931, 1, 1), None],
    }
)


def on(engine: Engine, table: pa.Table, label: str) -> Table:
    relation = engine.load(table.to_reader())
    return Table(engine, relation, engine.columns(relation), label)


def attacked(engine: Engine) -> tuple[Finding, ...]:
    with ScratchEngine(engine) as scratch:
        release = on(scratch, RELEASE, "release")
        bound = bind_roles(release, quasi=["age", "born"], sensitive=["ill", "pay"])
        tried = attack_all(
            AttackInput(
                binding=bound,
                rng=np.random.default_rng(1),
                known=on(scratch, KNOWN, "known"),
                earlier=(on(scratch, EARLIER.append_column("pay", [[1, 2, 3]]), "earlier"),),
                on=["age"],
            )
        )
    assert set(tried.not_tried) == {"singling-out, linkability, closest", "attribute"}
    return tried.findings


def homogeneity(engine: Engine) -> Finding:
    """Return what one attack finds: all of them would take Spark minutes, for hundreds of queries."""
    with ScratchEngine(engine) as scratch:
        release = on(scratch, RELEASE, "release")
        result = read_classes(
            bind_roles(release, quasi=["age", "born"], sensitive=["ill"])
        ).columns[0]
        return find_homogeneity(result)


def test_every_engine_finds_the_same(any_engine: Engine):
    here = DuckDB()
    expected = homogeneity(here).to_dict()
    here.close()
    assert homogeneity(any_engine).to_dict() == expected


@pytest.mark.postgres
def test_a_server_finds_the_same_by_every_attack(postgres_url: str):
    here, server = DuckDB(), PostgreSQL(postgres_url)
    expected, found = attacked(here), attacked(server)
    here.close()
    server.close()
    assert [one.to_dict() for one in found] == [one.to_dict() for one in expected]
    names = {one.attack for one in found}
    assert {"linkage", "homogeneity", "background", "skewness", "inference"} <= names
    assert {"composition", "similarity", "dictionary"} <= names


class KnowsByHeart:
    """A model that is sure of what it was trained on."""

    feature_names, target, classes = ("age", "ill"), "pay", (1000, 2000, 3000, 4000, 9000)

    def predict_proba(self, rows: pa.Table, /) -> np.ndarray:
        paid = dict(zip(RELEASE["ill"].to_pylist(), RELEASE["pay"].to_pylist(), strict=True))
        chosen = np.array([paid.get(ill, 0) for ill in rows["ill"].to_pylist()])
        return np.where(chosen[:, None] == np.array(self.classes), 0.8, 0.05)


def attacked_model(engine: Engine) -> AttackReport:
    with ScratchEngine(engine) as scratch:
        return attack(
            "model",
            KnowsByHeart(),
            source=on(scratch, RELEASE, "source"),
            control=on(scratch, RELEASE, "control"),
            secret=["ill"],
            seed=1,
        )


def test_every_engine_finds_the_same_of_a_model(any_engine: Engine):
    here = DuckDB()
    expected = attacked_model(here).to_dict()
    here.close()
    assert attacked_model(any_engine).to_dict() == expected
    assert not any(value in json.dumps(expected) for value in (*SECRETS, "9000", "[20, 30)"))


def test_what_is_reported_holds_no_value_of_anyone():
    here = DuckDB()
    result = json.dumps([found.to_dict() for found in attacked(here)], ensure_ascii=False)
    here.close()
    for value in (*SECRETS, "Zebulon", "Quackenbush", "9000", "1990s", "[20, 30)"):
        assert value not in result


def test_every_finding_says_what_it_needed_and_what_stops_it():
    here = DuckDB()
    for found in attacked(here):
        assert found.knowledge.endswith(".")
        assert found.remedy.endswith(".")
        assert 0 <= found.interval[0] <= found.rate <= found.interval[1] <= 1
        assert found.claimed <= found.targets
        assert found.correct is None or found.correct <= found.claimed
    here.close()
