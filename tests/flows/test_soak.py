"""A server that runs for long keeps its size, and what connects and disconnects leaves nothing behind."""

from __future__ import annotations

import os

import pytest
from bench.soak import run_connections, run_mixed_load, soaked_gateway

HOUR = 3600.0
IS_LONG = bool(os.environ.get("DISCREET_SOAK"))  # hours are given

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("availability")]


def test_memory_is_flat_under_an_hour_of_mixed_load(capsys: pytest.CaptureFixture[str]):
    with soaked_gateway() as gateway:
        load = run_mixed_load(gateway, seconds=HOUR if IS_LONG else 600)
    with capsys.disabled():
        print(f"\n{load.done:,} rounds, memory {load.growth():+.1%}, at last {load.sizes[-1]}")
    assert load.failures == []
    assert abs(load.growth()) <= 0.05
    files = [size.files for size in load.sizes]
    assert max(files[-60:]) <= max(files[:60]) + 30  # a thread has connections of its own


def test_ten_thousand_connections_leave_nothing_behind(capsys: pytest.CaptureFixture[str]):
    with soaked_gateway() as gateway:
        before, after = run_connections(gateway, 10_000 if IS_LONG else 2000)
    with capsys.disabled():
        print(f"\n{before} → {after}")
    assert after.memory <= before.memory * 1.05
    assert after.files <= before.files + 30
    assert after.threads <= before.threads + 10
