"""The figures in the documentation: measured by benches, kept in `docs/figures`, rendered into pages.

`python -m bench.figures NAME …` (all without a name: `make figures`) runs benches, writes one file
`docs/figures/NAME.json` each, with the command, date, commit and machine, and renders it into the pages
that have a block

    <!-- figures: NAME -->
    <!-- end -->

`python -m bench.figures --render` only renders. Results without a recipe here were entered by hand from
what their command printed; their `source` says so.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib
import json
import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "figures"
BLOCK = re.compile(r"<!-- figures: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end -->", re.DOTALL)
# The function of each, which returns what was measured.
RECIPES = {
    "composition": "bench.attack_composition:measure_composition",
    "republication": "bench.attack_composition:measure_republication",
    "attacks-on-classes": "bench.attack_composition:measure_classes",
    "noise": "bench.noise:measure_laplace",
    "reconstruction": "bench.attack_reconstruction:measure_estimators",
    "reconstruction-time": "bench.attack_reconstruction:measure_times",
    "dictionary": "bench.attack_dictionary:measure_hashes",
    "local-recoding": "bench.release_loss:measure_methods",
    "local-recoding-tables": "bench.release_loss:measure_tables",
    "mondrian": "bench.release_loss:measure_mondrian",
    "release-loss": "bench.release_utility:measure_loss",
    "release-accuracy": "bench.release_utility:measure_accuracy_after",
    "release-search": "bench.release:measure_search",
    "release-columns": "bench.release:measure_columns",
    "release-scale": "bench.release_scale:measure_scale",
    "release-spark": "bench.release_scale:measure_spark",
    "answer-accuracy": "bench.answer_accuracy:measure_accuracy",
    "answer-time": "bench.answer:measure_time",
    "answer-small": "bench.answer_small:measure_small",
    "workload": "bench.workload:measure_workloads",
    "census": "bench.attack_census:measure_census",
    "attack-model": "bench.attack_model:measure_models",
    "linkage-time": "bench.attack_linkage:measure_linkage",
    "synthetic-time": "bench.attack_synthetic:measure_synthetic",
    "synthesize": "bench.synthesize:measure_tables",
    "synthesize-part": "bench.synthesize:measure_part",
    "synthesize-credit": "bench.synthesize_credit:measure_credit",
    "synthesize-counts": "bench.synthesize_counts:measure_counts",
    "sample-and-aggregate": "bench.sample_and_aggregate:measure_convergence",
    "learn-classes": "bench.learn:measure_classes",
    "learn-numbers": "bench.learn:measure_numbers",
    "learn-unsupervised": "bench.learn_unsupervised:measure_unsupervised",
    "learn-counts": "bench.learn_counts:measure_counts",
    "serving": "bench.serve:measure_serving",
    "serving-loads": "bench.serve_loads:measure_loads",
    "serving-pieces": "bench.serve_loads:measure_pieces",
    "statistics-chi-square": "bench.significance:measure_chi_square",
    "statistics-tests": "bench.significance:measure_tests",
    "versions": "bench.versions:measure_versions",
    "walks": "bench.walks:measure_walks",
    "detection": "bench.detection:measure_roles",
    "detection-tables": "bench.detection:measure_sets",
    "detection-classes": "bench.detection:measure_classes",
    "text-recall": "bench.text_recall:measure_second",
    "text-recall-third": "bench.text_recall:measure_third",
    "text-recall-fourth": "bench.text_recall:measure_fourth",
}


@dataclass(frozen=True)
class FigureTable:
    """A table of figures, as it is printed."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_markdown(self) -> str:
        """Return the table as a page has it."""
        lines = [self.columns, tuple("---" for _ in self.columns), *self.rows]
        head, rule, *body = lines
        text = [f"| {' | '.join(head)} |", f"|{'|'.join(rule)}|"]
        return "\n".join([*text, *(f"| {' | '.join(row)} |" for row in body)]) + "\n"


@dataclass(frozen=True)
class ResultsFile:
    """What was measured, and where it comes from.

    Attributes:
        command: What measures it.
        date: When it was measured; where it was entered by hand, when that was committed.
        commit: The last commit that had changed `src`, `-modified` where files were changed since;
            where it was entered by hand, the commit that did so.
        machine: On what.
        source: `run` where the run itself wrote the file, `hand` where figures were copied.
        measured: The figures.
    """

    command: str
    date: str
    commit: str
    machine: str
    source: Literal["run", "hand"]
    measured: FigureTable

    def to_markdown(self) -> str:
        """Return the block of a page: the table and its origin."""
        how = "measured" if self.source == "run" else "entered by hand"
        origin = f"`{self.command}`, {how} {self.date} at {self.commit}; {self.machine}."
        return f"\n{self.measured.to_markdown()}\n{origin}\n\n"

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_results(path: Path) -> ResultsFile:
    """Return what a results file holds."""
    content = json.loads(path.read_text("utf-8"))
    table = content.pop("measured")
    rows = tuple(tuple(row) for row in table["rows"])
    return ResultsFile(**content, measured=FigureTable(tuple(table["columns"]), rows))


def render(page: str, folder: Path = FOLDER) -> str:
    """Return a page with its blocks made anew from results files."""

    def fill(block: re.Match[str]) -> str:
        text = read_results(folder / f"{block['name']}.json").to_markdown()
        return f"<!-- figures: {block['name']} -->\n{text}<!-- end -->"

    return BLOCK.sub(fill, page)


def list_pages() -> list[Path]:
    """Return all pages that may have figures."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def measure_figures(name: str) -> ResultsFile:
    """Run the bench of `name`, and return what it measured."""
    module, _, function = RECIPES[name].partition(":")
    commit = _describe_commit()
    run: Callable[[], FigureTable] = getattr(importlib.import_module(module), function)
    return ResultsFile(
        command=f"python -m bench.figures {name}",
        date=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        commit=commit,
        machine=_describe_machine(),
        source="run",
        measured=run(),
    )


def _describe_commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    return git("log", "-1", "--format=%h", "--", "src") + ("-modified" if changed else "")


def _describe_machine() -> str:
    cores = f"{os.cpu_count()} cores ({platform.machine()})"
    return f"{cores}, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"


def _render_pages(pages: Iterable[Path]) -> None:
    for page in pages:
        text = page.read_text("utf-8")
        made = render(text)
        if made != text:
            page.write_text(made, "utf-8")
            print(f"{page.relative_to(ROOT)}: rendered")


def main() -> None:
    """Measure and render."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument("--render", action="store_true", help="render pages only")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in RECIPES]:
        parser.error(f"nothing measures {', '.join(unknown)}")
    # CPU times are those of one thread, where a library would otherwise take all cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in () if given.render else given.names or RECIPES:
        print(f"{name}: {RECIPES[name]}", flush=True)
        measure_figures(name).write(FOLDER / f"{name}.json")
    _render_pages(list_pages())


if __name__ == "__main__":
    main()
