"""What a release of Adult loses: ours, the peers' that run here, and ARX's."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bench.figures import FigureTable
from bench.people import FOLDER
from bench.release_process import DISCREET, aimed, measure, peer
from bench.release_score import Score, original_accuracy, score
from bench.release_search import A8C, DATA, TABLES

if TYPE_CHECKING:
    from pathlib import Path

OUT = FOLDER / "release"
ADULT = DATA / "adult" / "adult.csv"
HIERARCHIES = ADULT.parent / "hierarchies"
ARX = "ARX, measured elsewhere"
# What is made here is measured and thrown away, whatever an attack learns from it.
ACCEPT = ("--accept-risk", "it is measured, not published")
SHARES = (0, 5, 100)
AIMS = {5: 0.0283, 10: 0.0432}
ARX_LOSS = {
    5: {
        "optimal 0 %": 0.6250,
        "optimal 5 %": 0.1783,
        "optimal 100 %": 0.1690,
        "local": 0.1048,
        "local, tuned by an expert": 0.0291,
    },
    10: {
        "optimal 0 %": 0.6791,
        "optimal 5 %": 0.2326,
        "optimal 100 %": 0.2049,
        "local": 0.1467,
        "local, tuned by an expert": 0.0444,
    },
}
ARX_ACCURACY = {"optimal 5 %": 0.8079, "local": 0.8079, "local, tuned by an expert": 0.8259}


@dataclass(frozen=True)
class Case:
    """What a peer is asked for."""

    name: str
    label: str
    table: str
    k: int
    suppress: float = 0.0


@dataclass(frozen=True)
class Line:
    """A line of the tables."""

    name: str
    score: Score
    wall: float
    cpu: float
    aim: float | None = None


def utility() -> None:
    """Print Loss for k=5 and k=10, and how well a column is predicted."""
    peers = _peers()
    for k in AIMS:
        print(f"\nA8, k={k}: 30,162 rows, 8 quasi-identifiers; one scorer for all released files")
        print(
            f"{'':<34}{'Loss':>8}{'labels':>8}{'hidden':>8}{'classes':>9}{'k':>4}{'CPU s':>8}"
            f"{'wall s':>8}  aim"
        )
        for line in (*_ours_of(k), *peers["anjana"][str(k)], *peers["anonypyx"][str(k)]):
            found = line.score
            print(
                f"{line.name:<34}{found.loss:>8.4f}{found.in_labels:>8.4f}{found.hidden:>8,}"
                f"{found.classes:>9,}{found.k:>4}{line.cpu:>8.2f}{line.wall:>8.2f}"
                f"  {aimed(found.loss, line.aim)}"
            )
        for name, loss in ARX_LOSS[k].items():
            print(f"{'ARX ' + name:<34}{loss:>8.4f}{'':>46} {ARX}")
    print("labels: Loss when sets and ranges become the least label of the hierarchies over them")
    _show_accuracy([*peers["anjana"]["A8c"], *peers["anonypyx"]["A8c"]])


def measure_loss() -> FigureTable:
    """Return the Loss of Adult for k=5 and k=10, and CPU seconds for k=5, of everybody."""
    OUT.mkdir(parents=True, exist_ok=True)
    peers = _peers()
    found = {k: [*_ours_of(k), *peers["anjana"][str(k)], *peers["anonypyx"][str(k)]] for k in AIMS}
    rows: list[tuple[str, ...]] = []
    for lines in zip(*found.values(), strict=True):
        losses = (f"{line.score.loss:.4f}" for line in lines)
        rows.append((lines[0].name, *losses, f"{lines[0].cpu:.1f} s"))
        if lines[0].name.startswith("anonypyx"):
            labels = (f"{line.score.in_labels:.4f}" for line in lines)
            rows.append(("the same in labels of the hierarchies", *labels, ""))
    for name in ARX_LOSS[5]:
        losses = (f"{ARX_LOSS[k][name]:.4f}" for k in AIMS)
        rows.append((f"ARX {name} (measured elsewhere)", *losses, ""))
    return FigureTable(("", *(f"k = {k}" for k in AIMS), "CPU (k = 5)"), tuple(rows))


def measure_accuracy_after() -> FigureTable:
    """Return how well a column of Adult is predicted from what everybody released."""
    OUT.mkdir(parents=True, exist_ok=True)
    before = original_accuracy(ADULT, quasi=list(A8C), target="salary-class")
    lines = [*_our_predictions(), *(line for of in _peers().values() for line in of["A8c"])]
    rows = [("original values", f"{before:.4f}", "0")]
    rows += [
        (line.name, f"{line.score.accuracy or 0.0:.4f}", f"{line.score.loss:.4f}") for line in lines
    ]
    rows += [
        (f"ARX {name} (measured elsewhere)", f"{a:.4f}", "") for name, a in ARX_ACCURACY.items()
    ]
    head = ("A8c, k = 5: salary-class predicted from released values", "accuracy", "Loss")
    return FigureTable(head, tuple(rows))


def command(table: str, output: Path, *words: str) -> list[str]:
    """Return the command line that releases one of the tables."""
    path, quasi, sensitive = TABLES[table]
    return [
        *(DISCREET, "anonymize", str(path), "--delimiter", ";", "--quasi", ",".join(quasi)),
        *("--sensitive", sensitive, "--hierarchies", str(path.parent / "hierarchies")),
        *("-o", str(output), "--force", "--json", *ACCEPT, *words),
    ]


def _ours_of(k: int) -> list[Line]:
    criterion = ("--k", str(k))
    full = ("--method", "full-domain", "--suppress")
    return [
        _ours("local (default)", "A8", *criterion, aim=AIMS[k]),
        _ours("mondrian", "A8", *criterion, "--method", "mondrian"),
        _ours("relaxed-mondrian", "A8", *criterion, "--method", "relaxed-mondrian"),
        *(
            _ours(f"full-domain {share} %", "A8", *criterion, *full, f"{share}%")
            for share in SHARES
        ),
    ]


def _ours(name: str, table: str, *words: str, aim: float | None = None) -> Line:
    output = OUT / "ours.csv"
    took = measure(command(table, output, *words))
    found = _scored(output, table)
    claimed = took.json["loss"]
    if abs(claimed - found.loss) > 1e-9:
        print(f"discreet {name} says Loss {claimed:.6f}, and its file has {found.loss:.6f}")
    return Line(f"discreet {name}", found, took.wall, took.cpu, aim)


def _peers() -> dict[str, dict[str, list[Line]]]:
    anjana = [Case(str(k), f"{s} %", "A8", k, s / 100) for k in AIMS for s in SHARES]
    anonypyx = [Case(str(k), "Mondrian", "A8", k) for k in AIMS]
    return {
        "anjana": _theirs("anjana", [*anjana, Case("A8c", "5 %", "A8c", 5, 0.05)]),
        "anonypyx": _theirs("anonypyx", [*anonypyx, Case("A8c", "Mondrian", "A8c", 5)]),
    }


def _theirs(name: str, cases: list[Case]) -> dict[str, list[Line]]:
    """Run a peer in its own environment and score what it wrote."""
    outputs = [OUT / f"{name}-{number}.csv" for number in range(len(cases))]
    given = [
        {**asdict(case), "quasi": list(TABLES[case.table][1]), "output": str(output)}
        for case, output in zip(cases, outputs, strict=True)
    ]
    line = [peer(name, FOLDER), f"bench/peers/{name}_adult.py", str(ADULT), str(HIERARCHIES)]
    took = measure([*line, json.dumps(given)])
    taken = [json.loads(line) for line in took.text.splitlines() if line.startswith('{"name"')]
    lines: dict[str, list[Line]] = {}
    for case, output, times in zip(cases, outputs, taken, strict=True):
        found = _scored(output, case.table)
        line = Line(f"{name} {case.label}", found, times["wall"], times["cpu"])
        lines.setdefault(case.name, []).append(line)
    return lines


def _scored(output: Path, table: str) -> Score:
    quasi = list(TABLES[table][1])
    target = "salary-class" if table == "A8c" else None
    return score(output, source=ADULT, hierarchies=HIERARCHIES, quasi=quasi, target=target)


def _our_predictions() -> list[Line]:
    full = ("--method", "full-domain", "--suppress", "5%")
    return [
        _ours("local (default)", "A8c", "--k", "5", aim=0.826),
        _ours("mondrian", "A8c", "--k", "5", "--method", "mondrian"),
        _ours("full-domain 5 %", "A8c", "--k", "5", *full),
    ]


def _show_accuracy(peers: list[Line]) -> None:
    print("\nA8c, k=5: accuracy of salary-class, logistic regression in 5 folds on released values")
    before = original_accuracy(ADULT, quasi=list(A8C), target="salary-class")
    lines = [*_our_predictions(), *peers]
    print(f"{'':<34}{'accuracy':>10}{'Loss':>8}  aim")
    print(f"{'original values':<34}{before:>10.4f}{0:>8.4f}")
    for line in lines:
        accuracy = line.score.accuracy or 0.0
        met = aimed(accuracy, line.aim, least=True, digits=3)
        print(f"{line.name:<34}{accuracy:>10.4f}{line.score.loss:>8.4f}  {met}")
    for name, accuracy in ARX_ACCURACY.items():
        print(f"{'ARX ' + name:<34}{accuracy:>10.4f}{'':>10}{ARX}")
