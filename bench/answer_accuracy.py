"""How far answers are from the truth: discreet and its peers on Adult, at the same guarantee.

Run with `make bench`, or alone: `python -m bench.answer_accuracy`. Everybody answers each question alone
with epsilon = 1, pure differential privacy, and one row more or less as the difference that must not
show; keys and bounds are public and the same for all. Peers run in environments of their own; what they
answered is kept in build/, so that a second run asks only discreet (`--again` asks everybody).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from bench.figures import FigureTable
from bench.peers.shared_answer import AGE, CELLS, EDUCATION, HOURS, SEX
from bench.people import FOLDER
from bench.release_process import CommandFailed, measure, peer

SOURCE = Path("../shared/data/adult_uci/adult_uci.csv")
KEPT = FOLDER / "answer-accuracy.json"

Answers = list[list[float]]


@dataclass(frozen=True)
class Question:
    """A question in discreet's SQL, and what its error is measured in."""

    name: str
    title: str
    sql: str
    number: str  # the column of the answer that is scored
    keys: tuple[str, ...] = ()
    digits: int = 3


QUESTIONS = [
    Question(
        "counts",
        "count by education × sex",
        "SELECT education, sex, COUNT(*) AS n FROM adult GROUP BY education, sex",
        "n",
        ("education", "sex"),
    ),
    Question("mean", "mean age", "SELECT AVG(age) AS m FROM adult", "m", digits=5),
    Question("median", "median age", "SELECT MEDIAN(age) AS m FROM adult", "m"),
    Question("sum", "sum of hours", "SELECT SUM(hours) AS s FROM adult", "s", digits=1),
    Question(
        "medians",
        "median age by education",
        "SELECT education, MEDIAN(age) AS m FROM adult GROUP BY education",
        "m",
        ("education",),
    ),
]
# Peers with the name of their environment and how often each question is asked of them; those that need
# seconds for one answer are asked less often. A question that is missing is one they cannot answer.
PEERS = {
    "OpenDP 0.16.0 (Polars)": (
        "opendp",
        {"counts": 200, "mean": 1000, "median": 200, "sum": 1000, "medians": 200},
    ),
    "SmartNoise SQL 1.0.10": ("smartnoise", {"counts": 100, "mean": 400, "sum": 400}),
    "PipelineDP 0.3.1": (
        "pipelinedp",
        {"counts": 30, "mean": 200, "median": 60, "sum": 200, "medians": 60},
    ),
    "Tumult Analytics 0.21.0": (
        "tumult",
        {"counts": 30, "mean": 60, "median": 30, "sum": 60, "medians": 30},
    ),
    "diffprivlib 0.6.6": (
        "diffprivlib",
        {"counts": 200, "mean": 1000, "median": 200, "sum": 1000, "medians": 60},
    ),
}
# Not the same guarantee: shown, never the best peer.
KNOWS_N = ("diffprivlib, n public", "diffprivlib", {"mean": "mean-n", "sum": "sum-n"})
OURS = "discreet"
REPEATS = 500


def adult() -> Path:
    """Return the columns that are asked about, in Parquet, made once and kept."""
    path = FOLDER / "adult-answer.parquet"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        rows = duckdb.read_csv(str(SOURCE), all_varchar=True, header=True)
        rows.select(
            "CAST(age AS INTEGER) AS age, trim(education) AS education, trim(sex) AS sex,"
            ' CAST("hours-per-week" AS INTEGER) AS hours'
        ).write_parquet(str(path))
    return path


def policy(path: Path, folder: Path) -> Path:
    """Write what is public of Adult, as a policy of discreet."""
    column = {"role": "sensitive"}
    table = {
        "source": str(path.resolve()),
        "unit": "row",
        # Enough for all runs: each is asked for epsilon = 1, and the ledger holds them together.
        "budget": {"epsilon": 1_000_000},
        "columns": {
            "age": {**column, "bounds": AGE},
            "hours": {**column, "bounds": HOURS},
            "education": {**column, "values": EDUCATION},
            "sex": {**column, "values": SEX},
        },
    }
    written = folder / "adult.yaml"
    written.write_text(json.dumps({"tables": {"adult": table}}), encoding="utf-8")  # YAML as well
    return written


def ours(question: Question, repeats: int) -> Answers:
    """Ask discreet often, for a billionth less each time: the same question again has a kept answer."""
    import discreet

    path = adult()
    found: Answers = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        curator = discreet.open(path, policy(path, folder), ledger=folder / "ledger.db")
        for turn in range(repeats):
            answer = curator.ask(question.sql, epsilon=1 - Decimal(turn) / 10**9)
            names = list(answer.columns)
            keys = [names.index(key) for key in question.keys]
            number = names.index(question.number)
            rows = sorted(answer.rows, key=lambda row: [row[key] for key in keys])
            found.append([float(row[number]) for row in rows])
        curator.close()
    return found


def truth() -> dict[str, list[float]]:
    """Return the exact answers, in the order of the keys."""
    connection = duckdb.connect()
    connection.from_parquet(str(adult())).create_view("adult")
    found: dict[str, list[float]] = {}
    for question in QUESTIONS:
        order = f" ORDER BY {', '.join(question.keys)}" if question.keys else ""
        rows = connection.execute(question.sql + order).fetchall()
        found[question.name] = [float(row[-1]) for row in rows]
    return found


def theirs(environment: str, question: str, repeats: int) -> Answers:
    """Ask a peer, in its own environment."""
    python = peer(environment, FOLDER)
    script = f"bench/peers/{environment}_answer.py"
    took = measure([python, script, "accuracy", str(adult()), question, str(repeats)])
    return json.loads(took.text.strip().splitlines()[-1])


@dataclass(frozen=True)
class Error:
    """The mean absolute error over runs and cells, with its own standard error."""

    mean: float
    uncertain: float
    runs: int

    def text(self, digits: int) -> str:
        """Return the error as a cell of a table."""
        return f"{self.mean:.{digits}f} ±{self.uncertain:.{digits}f}"


def score(answers: Answers, exact: list[float]) -> Error:
    """Compare answers with the truth."""
    for answer in answers:
        if len(answer) != len(exact):
            raise ValueError(f"{len(answer)} cells where {len(exact)} were asked for")
    runs = [
        statistics.fmean(abs(one - true) for one, true in zip(answer, exact, strict=True))
        for answer in answers
    ]
    spread = statistics.stdev(runs) / len(runs) ** 0.5 if len(runs) > 1 else 0.0
    return Error(statistics.fmean(runs), spread, len(runs))


def ask_peers(*, again: bool) -> dict[str, dict[str, Answers]]:
    """Return every peer's answers by question, from the last time where they are there."""
    kept: dict[str, dict[str, Answers]] = {}
    if KEPT.exists() and not again:
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    wanted = [
        (name, environment, question, question, repeats)
        for name, (environment, questions) in PEERS.items()
        for question, repeats in questions.items()
    ]
    name, environment, words = KNOWS_N
    wanted += [(name, environment, question, word, 1000) for question, word in words.items()]
    for name, environment, question, word, repeats in wanted:
        if question in kept.get(name, {}):
            continue
        print(f"asking {name} for {question} {repeats} times", file=sys.stderr)
        try:
            kept.setdefault(name, {})[question] = theirs(environment, word, repeats)
        except CommandFailed as failed:
            print(f"{name}, {question}: {failed}", file=sys.stderr)
            continue
        KEPT.write_text(json.dumps(kept), encoding="utf-8")
    return kept


def measure_accuracy() -> FigureTable:
    """Return everybody's mean absolute error, by question."""
    exact, answers = truth(), ask_peers(again=False)
    answers = {"**discreet**": {q.name: ours(q, REPEATS) for q in QUESTIONS}, **answers}
    rows = [
        (
            name,
            *(
                score(of[q.name], exact[q.name]).text(q.digits) if q.name in of else "none"
                for q in QUESTIONS
            ),
        )
        for name, of in answers.items()
    ]
    return FigureTable(("", *(question.title for question in QUESTIONS)), tuple(rows))


def show(question: Question, errors: dict[str, Error]) -> None:
    """Print one question's errors, the best peer, and the ratio to it."""
    print(f"\n{question.title}: mean absolute error ± its standard error (runs)")
    for name, error in errors.items():
        print(f"  {name:<26}{error.text(question.digits):>22}  ({error.runs})")
    rivals = {name: error for name, error in errors.items() if name not in (OURS, KNOWS_N[0])}
    best = min(rivals, key=lambda name: rivals[name].mean)
    if OURS not in errors:
        print(f"  best peer: {best}")
        return
    print(f"  best peer: {best}; discreet {compared(errors[OURS], rivals[best])}")


def compared(mine: Error, other: Error) -> str:
    """Return the ratio of two errors and whether it is no worse than one.

    Both are numbers of chance: a miss is what three standard errors do not explain.
    """
    if not other.mean:
        return "is exact too" if not mine.mean else "is not exact: MISSED"
    ratio = mine.mean / other.mean
    slack = 3 * (mine.uncertain**2 + other.uncertain**2) ** 0.5
    more = mine.mean - other.mean
    met = "met" if more <= 0 else "met within chance" if more <= slack else "MISSED"
    return f"{ratio:.2f} times its error, <= 1: {met}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--again", action="store_true", help="ask peers again")
    parser.add_argument("--peers", action="store_true", help="peers only")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="how often discreet is asked")
    given = parser.parse_args()
    if not SOURCE.exists():
        print(f"answer accuracy: skipped, {SOURCE} is not here")
        return
    exact = truth()
    print("Adult (UCI, 32,561 rows), epsilon = 1 per question, pure, a row more or less")
    print(f"ages {AGE[0]} to {AGE[1]}, hours {HOURS[0]} to {HOURS[1]}, {len(CELLS)} cells")
    answers = ask_peers(again=given.again)
    for question in QUESTIONS:
        found = {
            name: score(of[question.name], exact[question.name])
            for name, of in answers.items()
            if question.name in of
        }
        if not given.peers:
            mine = score(ours(question, given.repeats), exact[question.name])
            found = {OURS: mine, **found}
        show(question, found)


if __name__ == "__main__":
    main()
