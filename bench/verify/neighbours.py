"""Neighbor fuzz: nobody is told apart for free, nobody makes a question fail, and no loss exceeds its price.

Run with `python -m bench.verify.neighbours [--seconds 60] [--seed 1] [--forms duckdb csv …]`. Random
tables over all types, as databases, files and frames, are opened with and without one unit; random
questions about both must have equal plans, refusals, prices and schemas, must both be answered, and
their exact statistics may differ by no more than what the noise was paid for. It fails on any finding.
A planted fault (a person who is there twice) must be found, or the verification itself has failed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from bench.verify.formats import FILES, FRAMES, UNTYPED, open_side
from bench.verify.loss import compare
from bench.verify.worlds import make_question, make_world

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.verify.loss import Side, Verdict
    from bench.verify.worlds import World

FORMS = ("duckdb", *FILES, *FRAMES)
QUESTIONS = 12  # about each database: to make one takes longer than to ask


@dataclass
class Tally:
    """What was compared, and what was found."""

    seen: Counter[str] = field(default_factory=Counter[str])
    findings: list[str] = field(default_factory=list[str])
    highest: float = 0.0

    def add(self, form: str, question: str, verdict: Verdict, seed: int) -> None:
        """Count one comparison."""
        self.seen[form] += 1
        self.seen["refused" if verdict.is_refused else "answered"] += 1
        self.seen["changed"] += verdict.loss > 0
        self.highest = max(self.highest, float(verdict.loss))
        if verdict.fault is not None:
            self.findings.append(f"[{form}, seed {seed}] {question}: {verdict.fault}")


def explore(
    forms: Sequence[str],
    *,
    seed: int,
    goes_on: Callable[[int], bool],
    url: str | None = None,
    questions: int = QUESTIONS,
    change: Callable[[World], World] = lambda world: world,
) -> Tally:
    """Compare neighbors as long as `goes_on`, which is told how many databases there were."""
    tally, made = Tally(), 0
    while goes_on(made):
        form = forms[made % len(forms)]
        _explored(form, seed + made, tally, url=url, questions=questions, change=change)
        made += 1
    return tally


def _explored(
    form: str,
    seed: int,
    tally: Tally,
    *,
    url: str | None,
    questions: int,
    change: Callable[[World], World],
) -> None:
    chance = Random(seed)
    dialect = "postgresql" if form == "postgresql" else "duckdb"
    world = change(make_world(chance, dialect, is_typed=form not in UNTYPED))
    with tempfile.TemporaryDirectory(prefix="discreet-neighbors-") as folder:
        sides: list[Side] = []
        for name, tables in (("there", world.tables), ("gone", world.neighbor())):
            place = Path(folder, name)
            place.mkdir()
            sides.append(open_side(form, tables, world.policy, place, url))
        for _ in range(questions):
            question = make_question(chance, is_alone=form in FRAMES)
            noise = chance.choice(("laplace", "gaussian"))
            tally.add(form, question, compare(question, *sides, noise=noise), seed)
        for side in sides:
            side.engine.close()


def twice(world: World) -> World:
    """Plant a fault: the leaver has a second id besides, and leaves with the rows of both."""
    visits = world.tables["visits"]
    second = next((row[0] for row in visits.rows if row[0] not in (world.leaver, "NULL")), "NULL")
    own = [row for row in visits.rows if row[0] == world.leaver]
    rows = [*visits.rows, *((second, *row[1:]) for row in own), *own] * 4
    planted = {**world.tables, "visits": replace(visits, rows=rows)}
    return replace(world, tables=planted, leaves="person", others=(second,))


def main() -> int:
    """Print what was compared and found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--forms", nargs="*", default=FORMS, help="of duckdb, files and frames")
    parser.add_argument("--postgres", help="the URL of a PostgreSQL server to use as well")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    forms = [*arguments.forms, *(["postgresql"] if arguments.postgres else [])]
    tally = explore(
        forms,
        seed=arguments.seed,
        goes_on=lambda _: time.monotonic() < end,
        url=arguments.postgres,
    )
    planted = explore(("duckdb",), seed=1, goes_on=lambda made: made < 4, change=twice)
    print(dict(tally.seen), f"highest loss {tally.highest:.3f} of the price")
    print("\n".join(tally.findings))
    if not planted.findings:
        print("The planted fault was not found: the verification does not work.")
    return 1 if tally.findings or not planted.findings else 0


if __name__ == "__main__":
    sys.exit(main())
