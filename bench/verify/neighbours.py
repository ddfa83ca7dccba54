"""Neighbor fuzz: nobody is told apart for free, nobody makes a question fail, and no loss exceeds its price.

Run with `python -m bench.verify.neighbours [--seconds 60] [--seed 1] [--forms duckdb text …]`. Random
tables over all types, as databases, frames, and files of every format in many dialects, are opened with
and without one unit; random questions about both must have equal plans, refusals, prices, schemas, errors
and cautions, must both be answered, and their exact statistics may differ by no more than what the noise
was paid for. It fails on any finding. Planted faults (a person who is there twice, readers that take
kinds from rows, one that looks at the first rows only) must be found, or the verification itself has failed.
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

from bench.verify.formats import ALONE, FILES, FRAMES, UNTYPED, WRITTEN, open_side, open_written
from bench.verify.loss import Verdict, compare
from bench.verify.worlds import make_question, make_weighted_question, make_world
from bench.verify.written_files import draw_style
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.verify.loss import Side
    from bench.verify.worlds import World

FORMS = ("duckdb", *FILES, *FRAMES, *WRITTEN)
# Where the kinds of columns might come from the rows.
GUESSED = ("text", "records", "workbook", "sav")
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
    change: Callable[[World], World] | None = None,
    reader: str = "declared",
) -> Tally:
    """Compare neighbors as long as `goes_on`, which is told how many databases there were."""
    tally, made = Tally(), 0
    while goes_on(made):
        form = forms[made % len(forms)]
        one = _Example(form, seed + made, url, reader)
        _explore_example(one, tally, questions=questions, change=change or _unchanged)
        made += 1
    return tally


@dataclass(frozen=True)
class _Example:
    """One world, in one form, and how it is read."""

    form: str
    seed: int
    url: str | None
    reader: str = "declared"

    def open(self, world: World, folder: Path, *, is_there: bool) -> Side | str:
        """Return one side, or how it was refused."""
        tables = world.tables if is_there else world.neighbor()
        try:
            if self.form not in WRITTEN:
                return open_side(self.form, tables, world.policy, folder, self.url)
            style = draw_style(Random(f"style {self.seed}"))
            return open_written(
                self.form, world, style, folder, is_there=is_there, reader=self.reader
            )
        except DiscreetError as error:
            return f"{type(error).__name__}: {error}".replace(str(folder), "")


def _explore_example(
    example: _Example, tally: Tally, *, questions: int, change: Callable[[World], World]
) -> None:
    chance, form = Random(example.seed), example.form
    dialect = "postgresql" if form == "postgresql" else "duckdb"
    world = change(make_world(chance, dialect, is_typed=form not in UNTYPED))
    with tempfile.TemporaryDirectory(prefix="discreet-neighbors-") as folder:
        sides: list[Side | str] = []
        for name in ("there", "gone"):
            place = Path(folder, name)
            place.mkdir()
            sides.append(example.open(world, place, is_there=name == "there"))
        there, gone = sides
        if isinstance(there, str) or isinstance(gone, str):
            told = [side if isinstance(side, str) else "opened" for side in sides]
            # A table that its policy describes can be opened; what a planted reader refuses must differ.
            is_fault = example.reader == "declared" or told[0] != told[1]
            verdict = Verdict(f"{told}" if is_fault else None, is_refused=True)
            tally.add(form, "opened", verdict, example.seed)
            return
        for _ in range(questions):
            question = make_question(chance, is_alone=form in ALONE)
            noise = chance.choice(("laplace", "gaussian"))
            tally.add(form, question, compare(question, there, gone, noise=noise), example.seed)
        apart = Random(example.seed)
        for noise in ("laplace", "gaussian"):
            question = make_weighted_question(apart)
            verdict = compare(question, there, gone, noise=noise, weighted=True)
            tally.add(form, f"weighted {question}", verdict, example.seed)
            tally.seen["weighted"] += not verdict.is_refused
        for side in (there, gone):
            side.close()


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
    missed = missed_faults(20)
    print(dict(tally.seen), f"highest loss {tally.highest:.3f} of the price")
    print("\n".join(tally.findings))
    for name in missed:
        print(f"The planted fault was not found: {name}. The verification does not work.")
    return 1 if tally.findings or missed else 0


def missed_faults(most: int) -> list[str]:
    """Return the planted faults that are not found in so many examples each."""
    planted = {f"twice in {form}": (form, twice, "declared") for form in ("duckdb", *WRITTEN)}
    planted |= {f"guessed kinds of {form}": (form, _unchanged, "guessing") for form in GUESSED}
    planted["kinds of the first rows"] = ("text", _unchanged, "sampling")
    return [name for name, fault in planted.items() if not finds_fault(*fault, most=most)]


def finds_fault(form: str, change: Callable[[World], World], reader: str, *, most: int) -> bool:
    """Whether a planted fault is found in one of so many examples."""
    found = (
        explore((form,), seed=seed, goes_on=_once, questions=4, change=change, reader=reader)
        for seed in range(1, most + 1)
    )
    return any(tally.findings for tally in found)


def _once(made: int) -> bool:
    return made < 1


def _unchanged(world: World) -> World:
    return world


if __name__ == "__main__":
    sys.exit(main())
