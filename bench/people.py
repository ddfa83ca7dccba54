"""Ten million made-up people for the benchmarks: skewed and correlated, as real tables are."""

from __future__ import annotations

from pathlib import Path

import duckdb

FOLDER = Path("build/bench")
QUASI = ("age", "sex", "race", "education", "marital", "workclass")
SENSITIVE = "occupation"

# Each column leans on the one before it: education on age, marital status on age, occupation on
# education. `hard` draws every column by itself, which makes as many classes as possible.
_LEANING = """
    SELECT age, CASE WHEN random() < 0.52 THEN 'Female' ELSE 'Male' END AS sex,
      'race-' || floor(5 * pow(random(), 4))::INT AS race,
      'education-' || least(15, floor(age / 8 + 7 * pow(random(), 3)))::INT AS education,
      'marital-' || least(6, floor(age / 16 + 3 * pow(random(), 3)))::INT AS marital,
      'workclass-' || floor(8 * pow(random(), 4))::INT AS workclass, age AS seed
    FROM (SELECT (17 + floor(73 * pow(random(), 1.7)))::INT AS age FROM range({rows}))
"""
_HARD = """
    SELECT (17 + floor(73 * random() * random()))::INT AS age,
      CASE WHEN random() < 0.6 THEN 'Male' ELSE 'Female' END AS sex,
      'race-' || floor(5 * pow(random(), 3))::INT AS race,
      'education-' || floor(16 * random())::INT AS education,
      'marital-' || floor(7 * pow(random(), 2))::INT AS marital,
      'workclass-' || floor(8 * pow(random(), 3))::INT AS workclass, 0 AS seed
    FROM range({rows})
"""
_OCCUPATION = """
    SELECT * EXCLUDE (seed),
      'occupation-' || CASE WHEN seed = 0 THEN floor(14 * random())
        ELSE (length(education) + floor(seed / 10) + floor(6 * pow(random(), 3))) % 14 END::INT
        AS occupation
    FROM ({people})
"""


def people(kind: str, rows: int = 10_000_000) -> Path:
    """Return a Parquet file of `rows` people, made once and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{kind}-{rows}.parquet"
    if not path.exists():
        _make(kind, rows, path, seed=0.42)
    return path


def survey(rows: int) -> Path:
    """Return a Parquet file of `rows` people with 30 answers each, made once and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"survey-{rows}.parquet"
    if not path.exists():
        answers = ", ".join(
            f"'answer-' || floor({2 + index} * pow(random(), 5))::INT AS a{index}"
            for index in range(30)
        )
        with duckdb.connect() as connection:
            connection.execute("SELECT setseed(0.42)")
            connection.execute("SET threads = 1")
            connection.execute(f"COPY (SELECT {answers} FROM range({rows})) TO '{path}'")
    return path


def people_in_parts(kind: str, rows: int, *, parts: int) -> Path:
    """Return a folder of Parquet files that have `rows` people together, made once and kept."""
    folder = FOLDER / f"{kind}-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    for part in range(parts):
        path = folder / f"part-{part:03d}.parquet"
        if not path.exists():
            _make(kind, rows // parts, path, seed=part / parts)
    return folder


def _make(kind: str, rows: int, path: Path, *, seed: float) -> None:
    query = {"leaning": _LEANING, "hard": _HARD}[kind].format(rows=rows)
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SELECT setseed(?)", [seed])
    unfinished = path.with_suffix(".unfinished")
    connection.sql(_OCCUPATION.format(people=query)).write_parquet(str(unfinished))
    unfinished.rename(path)
