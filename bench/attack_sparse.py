"""The scoreboard of `attack sparse` against the same scores by a plain join in DuckDB.

Run with `python -m bench.attack_sparse [RECORDS [TARGETS]]`, 100,000 each by default. Made-up ratings:
about 70 of 17,000 movies per person, popular ones more often; eight of them are known of each target,
two of these wrong, days off by up to 14. One target in ten is not in the release. DuckDB scores a
sample of the targets, because all of them would take hours; the ratio is of times per target.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.people import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

ITEMS, PER_PERSON, KNOWN, WRONG, DAYS = 17_000, 70, 8, 2, 14
SAMPLE = 200

# Scores, the two best of each target, and the deviation over all records, those without a score too.
JOIN = """
WITH weights AS (
  SELECT movie, 1 / ln(greatest(count(*), 2)) AS weight FROM release GROUP BY movie
), scores AS (
  SELECT k."user" AS target, r."user" AS record,
    sum(w.weight * (exp(-abs(k.rating - r.rating) / 1.5) + exp(-abs(k.day - r.day) / 30.0))) AS score
  FROM known k JOIN release r USING (movie) JOIN weights w USING (movie)
  GROUP BY ALL
)
SELECT target, arg_max(record, score) AS best, max(score) AS top, max(score, 2)[2] AS second,
  sqrt(sum(score * score) / {records} - pow(sum(score) / {records}, 2)) AS deviation
FROM scores GROUP BY target
"""


def make(records: int, targets: int) -> tuple[Path, Path]:
    """Return the release and what is known, made once and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    paths = [FOLDER / f"ratings-{name}-{records}-{targets}.parquet" for name in ("all", "known")]
    if all(path.exists() for path in paths):
        return paths[0], paths[1]
    chance = np.random.default_rng(0)
    absent = targets // 10
    people = records + absent
    popular = np.cumsum(1 / np.arange(1, ITEMS + 1) ** 0.8)
    drawn = chance.random((people, PER_PERSON)) * popular[-1]
    movies = np.searchsorted(popular, drawn).astype(np.int32)
    ratings = chance.integers(1, 6, movies.shape).astype(np.int8)
    days = chance.integers(0, 2_000, movies.shape).astype(np.int32)
    release = {
        "user": np.repeat(np.arange(records, dtype=np.int32), PER_PERSON),
        "movie": movies[:records].ravel(),
        "rating": ratings[:records].ravel(),
        "day": days[:records].ravel(),
    }
    pq.write_table(pa.table(release), paths[0])
    inside = chance.choice(records, targets - absent, replace=False)
    chosen = np.concatenate([inside, np.arange(records, people)])
    picked = np.argsort(chance.random((targets, PER_PERSON)), axis=1)[:, :KNOWN]
    rows = chosen[:, None]
    known = movies[rows, picked]
    known[:, :WRONG] = chance.integers(0, ITEMS, (targets, WRONG))
    off = chance.integers(-DAYS, DAYS + 1, known.shape)
    truth = np.repeat(chosen, KNOWN)
    known = {
        "user": np.repeat(np.arange(targets), KNOWN),
        "movie": known.ravel(),
        "rating": ratings[rows, picked].ravel(),
        "day": (days[rows, picked] + off).ravel(),
        "truth": pa.array(truth, mask=truth >= records),
    }
    pq.write_table(pa.table(known), paths[1])
    return paths[0], paths[1]


def by_join(release: Path, known: Path, records: int, sample: int) -> tuple[float, float]:
    """Return wall and CPU seconds of DuckDB for the first `sample` targets."""
    connection = duckdb.connect()
    connection.sql(f"CREATE TABLE release AS SELECT * FROM '{release}'")
    connection.sql(f"CREATE TABLE known AS SELECT * FROM '{known}' WHERE \"user\" < {sample}")
    wall, cpu = time.perf_counter(), time.process_time()
    connection.execute(JOIN.format(records=records)).fetchall()
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    records = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    targets = int(sys.argv[2]) if len(sys.argv) > 2 else records
    release, known = make(records, targets)
    from discreet.attacks.sparse.sparse import find_sparse
    from discreet.attacks.sparse.transactions import TransactionColumns
    from discreet.engines.connect import open_table

    parts = TransactionColumns("user", "movie", "rating", "day")
    wall, cpu = time.perf_counter(), time.process_time()
    found = find_sparse(
        open_table(release),
        open_table(known),
        parts,
        chance=np.random.default_rng(1),
        truth="truth",
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sample = min(SAMPLE, targets)
    join_wall, join_cpu = by_join(release, known, records, sample)
    print(f"{found.details['rows']:,} ratings of {records:,} people, {targets:,} targets")
    print(f"{'':<26}{'wall s':>9}{'CPU s':>9}{'CPU ms per target':>19}")
    print(f"{'attack sparse, all of it':<26}{wall:>9.1f}{cpu:>9.1f}{1e3 * cpu / targets:>19.2f}")
    name = f"DuckDB, {sample} targets"
    print(f"{name:<26}{join_wall:>9.1f}{join_cpu:>9.1f}{1e3 * join_cpu / sample:>19.2f}")
    print(f"DuckDB takes {join_cpu / sample / (cpu / targets):.0f} times as long per target")
    right, rows = found.details["best_is_right"], found.details["by_eccentricity"]
    print(f"best record right: {right:.4f} of those in the release; control {found.control:.3f}")
    for row in rows:
        print("  " + ", ".join(f"{key} {value:,}" for key, value in row.items()))


if __name__ == "__main__":
    main()
