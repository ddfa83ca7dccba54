"""Soak of the ledger: threads and processes hammer one budget while processes are killed at random.

Run with `python -m bench.ledger [--kills 400] [--threads 64] [--place postgresql://…]`. One process holds
the threads and is never killed; the others ask, and get `kill -9` after some milliseconds, wherever they
are. First with a roomy budget, which ends when enough were killed; then with one that has room for a known
number of questions, until it is used up. It fails if more was spent than the limit, if an answer that
somebody was told is not in the book, if two were told different answers under one key, or if the book does
not agree with itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger
from discreet.errors import BudgetExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

COST = Fraction(1, 1000)
ROOMY = Fraction(1000)
LIFE = 0.3  # seconds until a process is killed, at most
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Totals:
    """What was seen; the last four must be 0."""

    seconds: float
    kills: int
    entries: int
    charged: int
    acknowledged: int
    spent: str
    limit: str
    room_left: int
    overspent: int
    missing_answers: int
    contradictions: int


@dataclass(frozen=True)
class Run:
    """Where the ledger is, where acknowledgements are written, and what the table may spend."""

    place: str
    folder: Path
    limit: Fraction
    is_tight: bool

    @property
    def table(self) -> Account:
        """Who pays for every question."""
        return Account("table", Budget(self.limit), None)

    @property
    def stop(self) -> Path:
        """The file that ends the asking."""
        return self.folder / "stop"


def ask(ledger: Ledger, run: Run, chance: random.Random, told: int) -> None:
    """Ask one question; what comes back is written to `told`, as a person would read it."""
    key = (
        f"shared {chance.randrange(300)}" if chance.random() < 0.3 else f"{chance.getrandbits(80)}"
    )
    part = Account("analyst", Budget(ROOMY), frozenset({f"month {chance.randrange(12)}"}))
    cost = price(Pure(COST))
    reservation = ledger.reserve([run.table, part], cost, key=key, at=NOON, question="SELECT …")
    answer = reservation.answer or ledger.commit(reservation, chance.randbytes(200))
    os.write(told, f"{key}\t{hashlib.sha256(answer).hexdigest()}\n".encode())


def hammer(run: Run) -> None:
    """Ask until the budget is used up, or until told to stop."""
    ledger, chance = Ledger(run.place), random.Random()
    told = os.open(run.folder / f"told-{chance.getrandbits(80)}", os.O_WRONLY | os.O_CREAT)
    while not run.stop.exists():
        try:
            ask(ledger, run, chance, told)
        except BudgetExceeded:
            if run.is_tight:
                return


def hammer_in_threads(run: Run, threads: int) -> None:
    """Ask from many threads that share one ledger."""
    ledger, faults = Ledger(run.place), []

    def work() -> None:
        chance = random.Random()
        told = os.open(run.folder / f"told-{chance.getrandbits(80)}", os.O_WRONLY | os.O_CREAT)
        while not run.stop.exists():
            try:
                ask(ledger, run, chance, told)
            except BudgetExceeded:
                if run.is_tight:
                    return
            except BaseException as fault:
                faults.append(fault)
                raise

    started = [threading.Thread(target=work) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if faults:
        os._exit(1)


def fork(work: Callable[[], None]) -> int:
    """Run `work` in a process of its own and return its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def kill_at_random(run: Run, *, processes: int, kills: int) -> int:
    """Keep `processes` asking and kill one after another; return how many were killed at work.

    Where the budget is roomy nobody ends by himself, so that this is all of them.
    """
    chance, killed = random.Random(), 0
    at_work = {
        fork(lambda: hammer(run)): time.monotonic() + chance.uniform(0, LIFE)
        for _ in range(processes)
    }
    for _ in range(kills):
        child = min(at_work, key=lambda each: at_work[each])
        time.sleep(max(0.0, at_work.pop(child) - time.monotonic()))
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
        at_work[fork(lambda: hammer(run))] = time.monotonic() + chance.uniform(0, LIFE)
    for child in at_work:
        os.kill(child, signal.SIGKILL)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
    return killed


def phase(run: Run, *, threads: int, processes: int, kills: int) -> int:
    """Hammer and kill; return how many were killed at work."""
    steady = fork(lambda: hammer_in_threads(run, threads))
    killed = kill_at_random(run, processes=processes, kills=kills)
    if not run.is_tight:
        run.stop.touch()
    code = os.waitpid(steady, 0)[1]
    run.stop.unlink(missing_ok=True)
    if code:
        raise SystemExit("A thread failed with something else than a refusal.")
    return killed


def acknowledged(folder: Path) -> tuple[dict[str, str], int]:
    """Return what people were told by key, and how many were told something else than others."""
    told: dict[str, str] = {}
    contradictions = 0
    for path in folder.glob("told-*"):
        for line in path.read_text().splitlines():
            key, digest = line.split("\t")
            contradictions += told.setdefault(key, digest) != digest
    return told, contradictions


def warm_up(run: Run) -> None:
    """Import what a question needs: a process that is killed while it imports tests nothing."""
    ledger = Ledger(run.place)
    ask(ledger, run, random.Random(), os.open(run.folder / "told-first", os.O_WRONLY | os.O_CREAT))
    ledger.close()


def soak(place: str, *, threads: int, processes: int, kills: int, room: int) -> Totals:
    """Run both phases on one ledger and compare the book with what people were told."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        roomy = Run(place, Path(folder), ROOMY, is_tight=False)
        warm_up(roomy)
        killed = phase(roomy, threads=threads, processes=processes, kills=kills)
        ledger = Ledger(place)
        spent = ledger.remaining([roomy.table])[0].epsilon.spent
        ledger.close()
        tight = Run(place, Path(folder), spent + room * COST, is_tight=True)
        killed += phase(tight, threads=threads, processes=processes, kills=kills // 4)
        told, contradictions = acknowledged(Path(folder))
    ledger = Ledger(place)
    entries = ledger.verify()
    left = ledger.remaining([tight.table])[0].epsilon
    missing = sum(
        hashlib.sha256(ledger.find(key) or b"").hexdigest() != digest
        for key, digest in told.items()
    )
    charged = ledger.entries("table", limit=10**9)
    total = sum(((entry.price.epsilon or 0) for entry in charged if entry.price), Fraction(0))
    return Totals(
        seconds=round(time.monotonic() - started, 1),
        kills=killed,
        entries=entries,
        charged=int(total / COST),
        acknowledged=len(told),
        spent=str(left.spent),
        limit=str(left.limit),
        room_left=int(left.left / COST),
        overspent=int(max(left.spent, total) > left.limit),
        missing_answers=missing,
        contradictions=contradictions,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place")
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kills", type=int, default=400)
    parser.add_argument("--room", type=int, default=500)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        totals = soak(
            given.place or str(Path(folder) / "ledger.db"),
            threads=given.threads,
            processes=given.processes,
            kills=given.kills,
            room=given.room,
        )
    print(json.dumps(asdict(totals), indent=2))
    faults = (totals.room_left, totals.overspent, totals.missing_answers, totals.contradictions)
    raise SystemExit(any(faults))


if __name__ == "__main__":
    main()
