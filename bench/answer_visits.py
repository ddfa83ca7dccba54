"""Made-up visits for the benchmark of answers, and what a policy says of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

import duckdb

from bench.peers.shared_answer import GROUPS_PER_USER, KEYS, ROWS_PER_GROUP, VALUES
from bench.people import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

Unit = Literal["row", "user"]

PLAIN = "SELECT k, COUNT(*) AS n, SUM(v) AS s, AVG(v) AS m FROM visits GROUP BY k"
# What the engine itself takes to keep values within bounds, exactly as an analyst would write it.
CLAMPED = PLAIN.replace("(v)", f"(least(greatest(v, {VALUES[0]}), {VALUES[1]}))")

# Nearly every pair of user and key is there once: the worst case for bounding what a user contributes.
# One value in twenty is beyond the upper bound.
_VISITS = """
    SELECT floor({users} * random())::BIGINT AS uid,
      'key-' || lpad(floor({keys} * random())::INT::VARCHAR, 2, '0') AS k,
      -33.0 * ln(1 - random()) AS v
    FROM range({rows})
"""


def visits(rows: int) -> Path:
    """Return a Parquet file of `rows` visits by a tenth as many users, made once and kept."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"visits-{rows}.parquet"
    if not path.exists():
        connection = duckdb.connect(config={"threads": 1})
        connection.execute("SELECT setseed(0.42)")
        query = _VISITS.format(users=rows // 10, keys=len(KEYS), rows=rows)
        unfinished = path.with_suffix(".unfinished")
        connection.sql(query).write_parquet(str(unfinished), compression="zstd")
        unfinished.rename(path)
    return path


def policy(source: Path | str, folder: Path, *, unit: Unit) -> Path:
    """Write the policy of the visits into `folder`: each row a person, or each `uid`."""
    table: dict[str, object] = {
        "source": str(source),
        "unit": "row",
        "budget": {"epsilon": 1_000_000},
        "columns": {
            "uid": {"role": "identifier" if unit == "user" else "insensitive"},
            "k": {"role": "sensitive", "values": KEYS},
            "v": {"role": "sensitive", "bounds": VALUES},
        },
    }
    if unit == "user":
        table |= {
            "unit": "uid",
            "limits": {
                "rows-per-unit": GROUPS_PER_USER * ROWS_PER_GROUP,
                "groups-per-unit": GROUPS_PER_USER,
                "rows-per-group": ROWS_PER_GROUP,
            },
        }
    written = folder / f"visits-{unit}.yaml"
    written.write_text(json.dumps({"tables": {"visits": table}}), encoding="utf-8")  # YAML as well
    return written
