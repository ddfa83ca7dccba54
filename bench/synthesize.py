"""How near a synthetic table is to the one it stands for, and what it takes: discreet and its peers.

Run with `python -m bench.synthesize [full fast pure peers] [--epsilon 1] [--runs 3] [--again]`. Adult, in one
public discretization, four fifths of the rows; the rest tests a classifier trained on synthetic rows. How the
table is made and scored is in `../shared/prototypes` (`prep.py`, `evalu.py`), for every synthesizer alike.
`tv2` is the mean total variation over all pairs of columns. Every synthesizer runs in a process of its own,
peers in environments of their own. Peers take minutes to hours: what they made is kept, `--again` runs them
again, and the figures of the documentation have those that ran. Those of private-pgm need `PRIVATE_PGM`, the
folder of a checkout of ryan112358/private-pgm, whose wheel has neither MST nor AIM. `python -m bench.figures
synthesize-part` runs all of them on a part of the table, on which each is done in minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.figures import FigureTable
from bench.people import FOLDER
from bench.release_process import CommandFailed, measure, peer
from discreet.dp.accounting.conversion import rho_of_epsilon
from discreet.dp.spending import PureSpending, ZcdpSpending
from discreet.release.synthesize.resolutions import ColumnShape
from discreet.release.synthesize.rounds import FAST, FULL, PURE, fit_model

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARED = Path(os.environ.get("DISCREET_SHARED", "../shared")).resolve()
WORK = FOLDER / "synthesize"
SETTINGS = {"full": FULL, "fast": FAST, "pure": PURE}
DELTA = Fraction(1, 10**9)
TARGET = "salary-class"
# The environment and the arguments of each peer, and the file that it writes.
PEERS = {
    "dpmm, MST": ("dpmm", ["mst", "1", "1e-9"], "dpmm-mst"),
    "dpmm, AIM": ("dpmm", ["aim", "1", "1e-9"], "dpmm-aim"),
    "dpmm, PrivBayes": ("dpmm", ["privbayes", "1", "1e-9"], "dpmm-privbayes"),
    "private-pgm, MST": ("private_pgm", ["mst", "1", "1e-9"], "private-pgm-mst"),
    "private-pgm, AIM": ("private_pgm", ["aim", "1", "1e-9", "80", "1000"], "private-pgm-aim"),
    "OpenDP, MST": ("opendp_mbi", ["mst", "1", "1e-9"], "opendp-mst"),
    "OpenDP, AIM": ("opendp_mbi", ["aim", "1", "1e-9"], "opendp-aim"),
    "smartnoise-synth, MST": ("smartnoise_synth", ["mst", "1", "1e-9"], "smartnoise-mst"),
    "smartnoise-synth, AIM": ("smartnoise_synth", ["aim", "1", "1e-9"], "smartnoise-aim"),
    "DataSynthesizer, 2 parents": ("datasynthesizer", ["2", "1"], "datasynthesizer"),
}
# The part of the table that every peer is done with.
PART_ROWS = 5000
PART_COLUMNS = (
    *("age", "workclass", "education-num", "marital-status", "sex", "hours-per-week"),
    TARGET,
)
PART_MINUTES = 15  # that a peer may take
OURS = (("full", "0.1"), ("full", "1"), ("full", "10"), ("fast", "1"), ("pure", "1"))
RUNS = 3


@dataclass(frozen=True)
class ArrayCounter:
    """Counts rows of an array of codes."""

    rows: Any
    sizes: list[int]

    def count(self, columns: Any, maps: Any) -> list[Any]:
        """Return the counts of each of `columns`."""
        rows = self.rows
        sizes = self.sizes
        if maps is not None:
            rows = np.stack([codes[rows[:, place]] for place, codes in enumerate(maps)], axis=1)
            sizes = [int(codes.max()) + 1 for codes in maps]
        found: list[Any] = []
        for some in columns:
            shape = [sizes[one] for one in some]
            places = np.ravel_multi_index([rows[:, one] for one in some], shape)
            found.append(np.bincount(places, minlength=int(np.prod(shape))).reshape(shape))
        return found


@dataclass(frozen=True)
class Scored:
    """What a synthetic table took, and how near it is."""

    cpu: float
    memory: float
    scores: dict[str, float]


def fit_table(
    train: Any,
    sizes: list[int],
    ordered: list[bool],
    name: str,
    epsilon: str,
    *,
    target: str = TARGET,
) -> Any:
    """Return synthetic rows."""
    chance = np.random.default_rng()
    if name == "pure":
        allowance = PureSpending(Fraction(epsilon), sensitivity=1)
    else:
        rho = rho_of_epsilon(Fraction(epsilon), delta=DELTA)
        allowance = ZcdpSpending(rho, sensitivity=1)
    model = fit_model(
        ArrayCounter(train.to_numpy(), sizes),
        [ColumnShape(*one) for one in zip(sizes, ordered, strict=True)],
        allowance,
        target=list(train.columns).index(target),
        settings=SETTINGS[name],
        chance=chance,
    )
    return model.sample(round(model.columns.total), chance)


def synthesize_file(folder: Path, name: str, epsilon: str) -> None:
    """Write a synthetic table beside the one it stands for, and print the CPU seconds."""
    import pandas as pd

    train = pd.read_csv(folder / "train.csv")
    domain = json.loads((folder / "domain.json").read_text("utf-8"))
    ordered = json.loads((folder / "ordered.json").read_text("utf-8"))
    names = list(train.columns)
    began = time.process_time()
    rows = fit_table(
        train, [domain[one] for one in names], [one in ordered for one in names], name, epsilon
    )
    took = time.process_time() - began
    pd.DataFrame(dict(zip(names, rows.T, strict=True))).to_csv(folder / f"{name}.csv", index=False)
    # What the system keeps for a process includes the one that started it; this does not.
    status = Path("/proc/self/status").read_text("utf-8")
    memory = int(status.split("VmHWM:")[1].split()[0]) // 1024
    print(json.dumps({"cpu": round(took, 2), "memory": memory}))


@dataclass(frozen=True)
class BenchTable:
    """A table of codes in a folder, and rows apart that test what is learned from a synthetic one."""

    folder: Path
    train: Any
    test: Any
    domain: dict[str, int]
    measures: Any

    def score(self, name: str, path: Path, *, cpu: float, memory: float) -> Scored:
        """Return how near the synthetic table in a file is."""
        import pandas as pd

        rows = pd.read_csv(path)[list(self.train.columns)].astype(int)
        for one in rows:
            rows[one] = np.clip(np.asarray(rows[one]), 0, self.domain[one] - 1)
        ways = self.measures.tvs(rows, self.train, self.domain)
        learned = self.measures.ml(rows, self.test, self.domain)
        kinds: list[str] = ["tv1", "tv2", "tv3", "lr_acc", "lr_auc", "gb_acc", "gb_auc"]
        scores = dict(zip(kinds, map(float, (*ways, *learned)), strict=True))
        print(name, cpu, memory, {key: round(one, 4) for key, one in scores.items()}, flush=True)
        return Scored(cpu, memory, scores)


def open_adult(*, is_part: bool = False) -> BenchTable:
    """Return Adult as the prototypes prepare and score it, written for other processes; all of it or a part."""
    os.environ.setdefault("DISCREET_DATA", str(SHARED / "data"))
    sys.path.insert(0, str(SHARED / "prototypes"))
    import evalu  # pyright: ignore[reportMissingImports]
    import prep  # pyright: ignore[reportMissingImports]

    train, test, domain = prep.data()
    folder = WORK
    if is_part:
        names = list(PART_COLUMNS)
        train, test, folder = train[names].head(PART_ROWS), test[names], WORK / "part"
    sizes = {name: int(domain[name]) for name in train.columns}
    folder.mkdir(parents=True, exist_ok=True)
    train.to_csv(folder / "train.csv", index=False)
    (folder / "domain.json").write_text(json.dumps(sizes), "utf-8")
    (folder / "ordered.json").write_text(json.dumps(sorted({*prep.NUM} & {*sizes})), "utf-8")
    return BenchTable(folder, train, test, sizes, evalu)


def run_ours(table: BenchTable, name: str, epsilon: str, runs: int) -> list[Scored]:
    """Return what several runs of a method took and made."""
    found: list[Scored] = []
    for _ in range(runs):
        words = ["--write", name, epsilon, "--folder", str(table.folder)]
        took = measure([sys.executable, "-m", "bench.synthesize", *words])
        path = table.folder / f"{name}.csv"
        found.append(table.score(f"{name} {epsilon}", path, **took.json))
    return found


def run_peers(table: BenchTable, *, again: bool, minutes: int | None = None) -> None:
    """Run peers that have made nothing yet, or all of them `again`; what they make is kept."""
    for name, (environment, words, file) in PEERS.items():
        kept = table.folder / f"{file}.json"
        if kept.exists() and not again:
            continue
        kept.unlink(missing_ok=True)
        if environment == "private_pgm" and "PRIVATE_PGM" not in os.environ:
            print(f"{name} needs PRIVATE_PGM, the folder of a checkout", file=sys.stderr)
            continue
        print(f"running {name}", file=sys.stderr)
        script = f"bench/peers/{environment}_synthesize.py"
        limit = [] if minutes is None else ["timeout", f"{minutes}m"]
        try:
            took = measure([*limit, peer(environment, FOLDER), script, str(table.folder), *words])
        except CommandFailed as failed:
            print(f"{name}: {failed}", file=sys.stderr)
            continue
        kept.write_text(json.dumps(took.json), "utf-8")


def score_peers(table: BenchTable) -> dict[str, Scored]:
    """Return what peers took and made when they ran."""
    found: dict[str, Scored] = {}
    for name, (_, _, file) in PEERS.items():
        kept = table.folder / f"{file}.json"
        if not kept.exists():
            print(f"{name} has not run: python -m bench.synthesize peers", file=sys.stderr)
            continue
        spent = json.loads(kept.read_text("utf-8"))
        path = table.folder / f"{file}.csv"
        found[name] = table.score(name, path, **spent)
    return found


def measure_bounds(table: BenchTable) -> list[tuple[str, ...]]:
    """Return the rows of the figures that no synthesizer makes."""
    chance = np.random.default_rng(0)
    train = table.train
    alone = train.apply(chance.permutation)
    bounds = {
        "the table itself": train,
        "rows drawn from it again": train.sample(len(train), replace=True, random_state=1),
        "its columns, independent, without noise": alone,
    }
    rows: list[tuple[str, ...]] = []
    for name, one in bounds.items():
        path = table.folder / "bound.csv"
        one.to_csv(path, index=False)
        scored = table.score(name, path, cpu=0, memory=0)
        rows.append((name, "", "", "", *_write_scores([scored])))
    return rows


def measure_tables() -> FigureTable:
    """Return the figures of the documentation: discreet, its peers, and what cannot be beaten."""
    table = open_adult()
    return _measure_methods(table, OURS)


def measure_part() -> FigureTable:
    """Return the figures of a part of the table, on which all peers run in the same run."""
    table = open_adult(is_part=True)
    run_peers(table, again=True, minutes=PART_MINUTES)
    return _measure_methods(table, [one for one in OURS if one[1] == "1"])


def _measure_methods(table: BenchTable, ours: Sequence[tuple[str, str]]) -> FigureTable:
    rows = measure_bounds(table)
    for method, epsilon in ours:
        runs = run_ours(table, method, epsilon, RUNS)
        rows.append((f"**discreet, {method}**", epsilon, *_write_costs(runs), *_write_scores(runs)))
    for name, one in score_peers(table).items():
        rows.append((name, "1", *_write_costs([one]), *_write_scores([one])))
    return FigureTable(
        (
            "synthetic table",
            "epsilon",
            "CPU s",
            "MB",
            "1-way",
            "2-way",
            "3-way",
            "logistic regression",
            "boosting",
        ),
        tuple(rows),
    )


def _write_costs(runs: list[Scored]) -> tuple[str, str]:
    cpu = statistics.fmean(one.cpu for one in runs)
    return f"{cpu:.1f}", f"{max(one.memory for one in runs):.0f}"


def _write_scores(runs: list[Scored]) -> tuple[str, ...]:
    mean = {key: statistics.fmean(one.scores[key] for one in runs) for key in runs[0].scores}
    return (
        *(f"{mean[key]:.3f}" for key in ("tv1", "tv2", "tv3")),
        *(f"{mean[f'{key}_acc']:.3f} / {mean[f'{key}_auc']:.3f}" for key in ("lr", "gb")),
    )


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="full, fast, pure or peers")
    parser.add_argument("--epsilon", nargs="*", default=["1"])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--again", action="store_true", help="run peers again")
    parser.add_argument("--write", nargs=2, metavar=("NAME", "EPSILON"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, default=WORK, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        synthesize_file(given.folder, *given.write)
        return
    table = open_adult()
    for name in given.names or [*SETTINGS, "peers"]:
        if name == "peers":
            run_peers(table, again=given.again)
            score_peers(table)
            continue
        for epsilon in given.epsilon:
            run_ours(table, name, epsilon, given.runs)


if __name__ == "__main__":
    main()
