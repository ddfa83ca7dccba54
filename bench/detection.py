"""What `init` and `deidentify` say of columns, against labels made by hand: precision and recall.

`python -m bench.detection` prints aggregates, `--json` the same for machines. `--show ROLE` lists the columns of a
role that were taken for something else; rules must not be tuned on them. `bench/labels/README.md` says what the
labels mean. Packages that ship data come from `bench/peers/evaluation.lock`, into an environment of their own.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import yaml

import discreet
from bench.attack_composition import DATA
from bench.figures import FigureTable
from bench.people import FOLDER
from bench.release_process import peer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LABELS = Path("bench/labels")
PREPARED = FOLDER / "labels"
ROLES = ("identifier", "quasi", "sensitive", "insensitive", "weight", "household", "text")
# What the classes of Safe Harbor are called in the tables.
CLASSES = {
    "A": "names",
    "B": "places",
    "C": "dates",
    "D": "phones",
    "F": "e-mail",
    "G": "national numbers",
    "H": "medical record numbers",
    "I": "health plan numbers",
    "K": "licenses",
    "R": "other numbers",
}
# Words of the detector's meanings for each category; a meaning without any of them is in no category.
CATEGORIES = {
    "health": ("health", "diagnos", "genetic", "medical", "drug", "disease"),
    "finance": ("income", "debt", "payment", "financ", "money", "wealth", "insurance"),
    "ethnicity": ("ethnic", "race", "origin", "national"),
    "religion": ("religio", "belief"),
    "politics": ("politic", "union", "vote"),
    "sexuality": ("sexual", "sex life", "orientation"),
    "criminal": ("crim", "offen", "convict", "police"),
}


@dataclass(frozen=True)
class Label:
    """What an expert says of a column.

    Attributes:
        roles: The role, then others that are right as well.
        classes: Classes of Safe Harbor, any of which is right.
        has_optional_class: No class is right as well.
        category: What is kept private.
    """

    column: str
    roles: tuple[str, ...]
    classes: str
    has_optional_class: bool
    category: str | None


@dataclass(frozen=True)
class Judged:
    """A label beside what was found."""

    table: str
    origin: str
    label: Label
    role: str
    category: str | None
    drafted_class: str | None
    deidentified_class: str | None

    @property
    def true_role(self) -> str:
        """The role that was found if it is a right one; otherwise the first that is."""
        return self.role if self.role in self.label.roles else self.label.roles[0]


@dataclass(frozen=True)
class Score:
    """How often something was there, was found, and both."""

    there: int
    found: int
    both: int

    def to_dict(self) -> dict[str, float | int | None]:
        """Return counts and shares."""
        return {**vars(self), "precision": self.precision, "recall": self.recall}

    @property
    def precision(self) -> float | None:
        """The share of what was found that is right."""
        return self.both / self.found if self.found else None

    @property
    def recall(self) -> float | None:
        """The share of what is there that was found."""
        return self.both / self.there if self.there else None


def score_pairs(pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, Score]:
    """Return the score of each value, from pairs of what is true and what was found."""
    there, found, both = Counter[str](), Counter[str](), Counter[str]()
    for true, said in pairs:
        there.update(() if true is None else (true,))
        found.update(() if said is None else (said,))
        both.update((true,) if true is not None and true == said else ())
    return {key: Score(there[key], found[key], both[key]) for key in there | found}


def score_roles(judged: Iterable[Judged]) -> dict[str, Score]:
    """Return the score of each role."""
    scores = score_pairs((one.true_role, one.role) for one in judged)
    return {role: scores[role] for role in ROLES if role in scores}


def score_classes(
    judged: Iterable[Judged], said: Callable[[Judged], str | None]
) -> dict[str, Score]:
    """Return the score of each class of Safe Harbor."""

    def find_true(one: Judged) -> str | None:
        found = said(one)
        if found is not None and found in one.label.classes:
            return found
        return None if one.label.has_optional_class else one.label.classes[:1] or None

    scores = score_pairs((find_true(one), said(one)) for one in judged)
    return dict(sorted(scores.items()))


def score_categories(judged: Iterable[Judged]) -> dict[str, Score]:
    """Return the score of each category, over what is, or is said to be, sensitive."""

    def find_true(one: Judged) -> str | None:
        return one.label.category if one.true_role == "sensitive" else None

    def find_said(one: Judged) -> str | None:
        return one.category if one.role == "sensitive" else None

    scores = score_pairs((find_true(one), find_said(one)) for one in judged)
    return {name: scores[name] for name in CATEGORIES if name in scores}


@functools.cache
def judge_tables() -> tuple[Judged, ...]:
    """Return all columns of all tables, with what was found of them."""
    return tuple(one for path in sorted(LABELS.glob("*.yaml")) for one in _judge_table(path))


def _judge_table(path: Path) -> list[Judged]:
    described = yaml.safe_load(path.read_text("utf-8"))
    source = _prepare_table(path.stem, described)
    labels = [read_label(name, text) for name, text in described["columns"].items()]
    drafted = discreet.draft_policy(str(source)).tables[0].columns
    assert len(drafted) == len(labels), f"{path}: {len(labels)} labels, {len(drafted)} columns"
    classes = _deidentify_columns(source)
    return [
        Judged(
            table=path.stem,
            origin=described["origin"],
            label=label,
            role=_name_role(column.guess),
            category=_find_category(column.guess.meaning),
            drafted_class=column.guess.safe_harbor,
            deidentified_class=classes[column.guess.column],
        )
        for label, column in zip(labels, drafted, strict=True)
    ]


def read_label(column: str, text: str) -> Label:
    """Return the label of a column, from its line."""
    roles, *tags = text.split()
    letters = next((tag for tag in tags if tag[0].isupper()), "")
    category = next((tag for tag in tags if tag[0].islower()), None)
    assert set(roles.split("|")) <= set(ROLES), f"{column}: {roles}"
    assert category is None or category in CATEGORIES, f"{column}: {category}"
    return Label(
        column, tuple(roles.split("|")), letters.rstrip("?"), letters.endswith("?"), category
    )


def _prepare_table(name: str, described: dict[str, Any]) -> Path:
    """Return a CSV file of the table, as its source has it."""
    file = described["file"]
    if shared := file.get("shared"):
        return DATA / shared
    python = Path(peer("evaluation", FOLDER))
    PREPARED.mkdir(parents=True, exist_ok=True)
    made = PREPARED / f"{name}.csv"
    if "extract" in file:
        script = "bench/peers/evaluation_extracts.py"
        subprocess.run([str(python), script, str(PREPARED)], check=True)
        return made
    shipped = next(python.parents[1].glob("lib/*/site-packages")) / file["package"]
    if shipped.suffix == ".compress":
        frame = pd.read_pickle(shipped, compression="xz")
        frame.iloc[:, 1:].to_csv(made, index=False)  # the first has the names of R's rows
    elif file.keys() == {"package"}:
        made.write_bytes(shipped.read_bytes())
    else:
        _rewrite_table(shipped, made, described)
    return made


def _rewrite_table(shipped: Path, made: Path, described: dict[str, Any]) -> None:
    """Write a table anew: without its first columns, or with the header of the labels."""
    file = described["file"]
    with shipped.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines, delimiter=file.get("delimiter", ",")) if row]
    if file.get("header") == "replaced":
        rows[0] = list(described["columns"])
    elif file.get("header") == "missing":
        rows.insert(0, list(described["columns"]))
    with made.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows(row[file.get("skip", 0) :] for row in rows)


def _deidentify_columns(source: Path) -> dict[str, str | None]:
    """Return the class of each column, as `deidentify` takes it."""
    made = discreet.deidentify(
        str(source), method="safe-harbor", dry_run=True, as_of=2026, accept_risk="a measurement"
    )
    return {column.column: column.letter for column in made.columns}


def _name_role(guess: Any) -> str:
    """Return the role of a guess in the words of the labels."""
    meaning = (guess.meaning or "").lower()
    if meaning == "sampling weight":  # further weights of a table are kept out like identifiers
        return "weight"
    if guess.role == "identifier" and "free text" in meaning:
        return "text"
    return {"quasi-identifier": "quasi"}.get(guess.role, guess.role)


def _find_category(meaning: str | None) -> str | None:
    said = (meaning or "").lower()
    return next((k for k, words in CATEGORIES.items() if any(word in said for word in words)), None)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}"


def measure_roles() -> FigureTable:
    """Return precision and recall of each role, on public tables and on constructed ones."""
    judged = judge_tables()
    by_origin = [
        score_roles(one for one in judged if one.origin == origin)
        for origin in ("public", "constructed")
    ]
    none = Score(0, 0, 0)
    rows = [
        (role, *(_cell(scores.get(role, none)) for scores in by_origin))
        for role in ROLES
        if any(role in scores for scores in by_origin)
    ]
    flat = tuple((role, *public, *constructed) for role, public, constructed in rows)
    head = ("columns", "precision", "recall")
    return FigureTable(("role", *head, *(f"{word}, constructed" for word in head)), flat)


def _cell(score: Score) -> tuple[str, str, str]:
    return str(score.there), _percent(score.precision), _percent(score.recall)


def measure_sets() -> FigureTable:
    """Return how well each table was read."""
    rows: list[tuple[str, ...]] = []
    for name, judged in _group_tables().items():
        scores = score_roles(judged)
        recalls = (scores.get(role, Score(0, 0, 0)).recall for role in ROLES[:3])
        right = sum(one.role == one.true_role for one in judged) / len(judged)
        described = yaml.safe_load((LABELS / f"{name}.yaml").read_text("utf-8"))
        mark = "" if described["origin"] == "public" else " (constructed)"
        shares = (_percent(share) for share in (right, *recalls))
        rows.append((described["title"] + mark, str(len(judged)), *shares))
    head = ("table", "columns", "roles right", "identifiers found")
    return FigureTable((*head, "quasi-identifiers found", "sensitive found"), tuple(rows))


def measure_classes() -> FigureTable:
    """Return precision and recall of each class and category, on all tables."""
    judged = judge_tables()
    drafted = score_classes(judged, lambda one: one.drafted_class)
    removed = score_classes(judged, lambda one: one.deidentified_class)
    none = Score(0, 0, 0)
    rows: list[tuple[str, ...]] = []
    for letter, name in CLASSES.items():
        init, other = drafted.get(letter, none), removed.get(letter, none)
        shares = (init.precision, init.recall, other.precision, other.recall)
        rows.append((f"{letter}: {name}", str(init.there), *map(_percent, shares)))
    for name, score in score_categories(judged).items():
        rows.append((name, *_cell(score), "", ""))
    head = ("class or category", "columns", "`init`: precision", "recall")
    return FigureTable((*head, "`deidentify`: precision", "recall"), tuple(rows))


def _group_tables() -> dict[str, list[Judged]]:
    grouped: dict[str, list[Judged]] = {}
    for one in judge_tables():
        grouped.setdefault(one.table, []).append(one)
    return grouped


def summarize() -> dict[str, Any]:
    """Return all aggregates, for machines."""

    def to_dicts(scores: dict[str, Score]) -> dict[str, Any]:
        return {key: score.to_dict() for key, score in scores.items()}

    judged = judge_tables()
    same = sum(one.drafted_class == one.deidentified_class for one in judged)
    return {
        "columns": len(judged),
        "roles": to_dicts(score_roles(judged)),
        "tables": {name: to_dicts(score_roles(some)) for name, some in _group_tables().items()},
        "classes of init": to_dicts(score_classes(judged, lambda one: one.drafted_class)),
        "classes of deidentify": to_dicts(
            score_classes(judged, lambda one: one.deidentified_class)
        ),
        "categories": to_dicts(score_categories(judged)),
        "same class in init and deidentify": same / len(judged),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print aggregates as JSON")
    parser.add_argument("--show", choices=ROLES, help="list misses of a role; not for tuning")
    given = parser.parse_args()
    if given.json:
        print(json.dumps(summarize(), indent=1))
    elif given.show:
        for one in judge_tables():
            if given.show in {one.true_role, one.role} and one.role != one.true_role:
                print(f"{one.table}.{one.label.column}: {one.true_role}, found {one.role}")
    else:
        for run in (measure_roles, measure_sets, measure_classes):
            print(run().to_markdown())
        share = _percent(summarize()["same class in init and deidentify"])
        print(f"init and deidentify say the same class of {share} % of the columns")


if __name__ == "__main__":
    main()
