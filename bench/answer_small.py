"""What a question takes besides the engine's work: planning, accounting, noise, a kept answer.

`python -m bench.answer_small` prints the table of the page about performance; `python -m bench.answer planning` more.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.answer_visits import PLAIN, policy
from bench.figures import FigureTable
from bench.release_process import aimed

if TYPE_CHECKING:
    from collections.abc import Callable

QUESTIONS = 1000
GROUPS = 1_000_000


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of one run."""
    began = time.process_time()
    work()
    return time.process_time() - began


def line(name: str, seconds: float, aim: float | None, *, unit: str = "s") -> float:
    """Print one time in `unit`, and whether it is as short as was aimed at; return it."""
    shown = seconds * {"s": 1, "ms": 1000}[unit]
    print(f"{name:<52}{shown:>10.3f} {unit:<3} {aimed(shown, aim, digits=3)}")
    return seconds


def planning() -> dict[str, float]:
    """Return the time from text to a plan, where the table is so small that nothing else counts."""
    import discreet

    print("\nA question besides the engine's work (CPU; a table of 10 rows)")
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = tiny(folder)
        written = policy(path, folder, unit="row")
        line(
            "opening",
            cpu(lambda: discreet.open(path, written, ledger=folder / "a.db", table="visits")),
            None,
        )
        curator = discreet.open(path, written, ledger=folder / "b.db", table="visits")
        asked = [
            cpu(lambda turn=turn: curator.ask(PLAIN, epsilon=1 + Decimal(turn) / 1000))
            for turn in range(21)
        ]
        line("first question of all, with imports", asked[0], None, unit="ms")
        line("another question: planning, engine, noise, ledger", min(asked[1:]), None, unit="ms")
        first = [
            cpu(lambda turn=turn: curator.plan(different(turn), epsilon=1)) for turn in range(20)
        ]
        planned = line("planning a question", min(first), 10, unit="ms")
        again = [cpu(lambda: curator.plan(PLAIN, epsilon=1)) for _ in range(20)]
        line("planning it again", min(again), 10, unit="ms")
        cached = [cpu(lambda: curator.ask(PLAIN, epsilon=1)) for _ in range(50)]
        kept = line("an answer that is kept", min(cached), 1, unit="ms")
    return {"planned": planned, "kept": kept}


def different(turn: int) -> str:
    """Return a question that was not planned before."""
    return PLAIN.replace("GROUP BY", f"WHERE v > {turn} GROUP BY")


def tiny(folder: Path) -> Path:
    import duckdb

    path = folder / "visits.parquet"
    duckdb.sql(
        "SELECT range AS uid, 'key-0' || range AS k, 10.0::DOUBLE * range AS v FROM range(10)"
    ).write_parquet(str(path))
    return path


def accounting() -> dict[str, float]:
    """Return what it takes to price many questions, and to write them into a ledger."""
    from discreet.dp.accounting.odometer import read_odometer
    from discreet.dp.accounting.pricing import price
    from discreet.dp.accounting.report import pld_epsilon, rdp_epsilon
    from discreet.dp.event import Laplace

    delta = Fraction(1, 10**6)
    same = [Laplace(Fraction(1), Fraction(100))] * QUESTIONS
    different = [Laplace(Fraction(1), Fraction(100 + one)) for one in range(QUESTIONS)]
    print(f"\nAccounting of {QUESTIONS:,} questions (CPU)")
    priced = 0.0
    for title, events in (("of one kind", same), ("all different", different)):
        prices = line(f"prices, {title}", cpu(lambda e=events: [price(one) for one in e]), 1)
        odometer = cpu(lambda e=events: read_odometer(e, delta=delta))
        priced = prices + line(f"odometer, {title}", odometer, 1)
        pld_epsilon(events[:1], delta=delta)  # imports
        line(f"report of RDP, {title}", cpu(lambda e=events: rdp_epsilon(e, delta=delta)), 1)
        line(f"report of PLD, {title}", cpu(lambda e=events: pld_epsilon(e, delta=delta)), None)
    with TemporaryDirectory() as folder:
        written = line("reserve and commit, SQLite", cpu(lambda: keep(Path(folder), same)), None)
    return {"priced": priced, "written": written}


def keep(folder: Path, events: list[object]) -> None:
    from discreet.dp.accounting.pricing import price
    from discreet.dp.budget import Budget
    from discreet.dp.ledger.ledger import Ledger
    from discreet.dp.ledger.records import Account

    ledger = Ledger(folder / "ledger.db")
    account = Account("visits", Budget(Fraction(10**6)))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for number, event in enumerate(events):
        reserved = ledger.reserve(
            [account], price(event), key=str(number), at=at, question="SELECT"
        )
        ledger.commit(reserved, b"{}")
    ledger.close()


def medians() -> dict[str, float]:
    """Return what choosing the medians of 100 groups takes, by the number of candidates."""
    import numpy as np

    from discreet.dp.mechanisms.quantiles import Quantile, choose_in_each

    print("\nMedians of 100 groups, without the engine (CPU)")
    half, chance = Quantile(Fraction(1, 2)), np.random.default_rng(1)
    took: dict[str, float] = {}
    for candidates in (101, 4097):
        counts = chance.integers(0, 50, (100, candidates))
        seconds = best(
            lambda c=counts: choose_in_each(c, half, epsilon=Fraction(1), rows_per_unit=1)
        )
        took[f"{candidates}"] = line(f"{candidates} candidates each", seconds, None, unit="ms")
    return took


def noise() -> dict[str, float]:
    """Return what noise for a million groups takes, here and in OpenDP."""
    from discreet.dp.noise import sample_gaussian, sample_laplace

    print(f"\nNoise for {GROUPS:,} groups (CPU)")
    for scale in (Fraction(1), Fraction(1000)):
        line(f"discrete Laplace, scale {scale}", best(lambda s=scale: sample_laplace(s, GROUPS)), 2)
    line("discrete Gaussian, scale 1000", best(lambda: sample_gaussian(Fraction(1000), GROUPS)), 2)
    ten = Fraction(10)
    works: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "Laplace": (lambda: sample_laplace(ten, GROUPS), opendp("laplace", 10.0)),
        "Gaussian": (lambda: sample_gaussian(ten, GROUPS), opendp("gaussian", 10.0)),
    }
    took: dict[str, float] = {}
    for name, (ours, theirs) in works.items():
        took[name] = line(f"discrete {name}, scale 10", best(ours), 2)
        took[f"OpenDP {name}"] = line(f"OpenDP 0.16, discrete {name}, scale 10", cpu(theirs), None)
    return took


def best(work: Callable[[], object]) -> float:
    return min(cpu(work) for _ in range(3))


def opendp(kind: str, scale: float) -> Callable[[], object]:
    from opendp import measurements
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    metric = {"laplace": l1_distance, "gaussian": l2_distance}[kind]
    make = {"laplace": measurements.make_laplace, "gaussian": measurements.make_gaussian}[kind]
    kinds = {"laplace": "i64", "gaussian": "f64"}[kind]
    mechanism = make(vector_domain(atom_domain(T="i64")), metric(T=kinds), scale=scale)
    zeros = [0] * GROUPS
    return lambda: mechanism(zeros)


SMALL = {"planning": planning, "accounting": accounting, "medians": medians, "noise": noise}


def measure_small() -> FigureTable:
    """Return the CPU times of the parts, and what was aimed at."""
    took = {name: seconds for part in SMALL.values() for name, seconds in part().items()}
    many = f"{QUESTIONS:,} different questions"
    rows = [
        ("planning a question", f"{took['planned'] * 1000:.1f} ms", "10 ms"),
        ("an answer that is kept", f"{took['kept'] * 1000:.1f} ms", "1 ms"),
        *(
            (f"medians of 100 groups, {size} candidates each", f"{took[size] * 1000:.1f} ms", "")
            for size in ("101", "4097")
        ),
        (f"prices and odometer of {many}", f"{took['priced']:.2f} s", "1 s"),
        (f"{many}, written into a ledger in SQLite", f"{took['written']:.1f} s", ""),
    ]
    for name in ("Laplace", "Gaussian"):
        theirs = f"OpenDP: {took[f'OpenDP {name}']:.1f} s"
        title = f"discrete {name} noise for a million groups ({theirs})"
        rows.append((title, f"{took[name]:.2f} s", "2 s"))
    return FigureTable(("", "CPU", "aim"), tuple(rows))


if __name__ == "__main__":
    print(measure_small().to_markdown())
