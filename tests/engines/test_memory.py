"""A table larger than memory: the engine spills, and Python holds one batch at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_MEGABYTES = 256
ROWS = 6_200_000
# Python, DuckDB's code and its buffers outside the limit; far below the size of the file.
ALLOWANCE_MEGABYTES = 250

pytestmark = pytest.mark.xdist_group("memory")  # one worker writes the large file once

MEASURED = """
import json, sys
from sqlglot import exp
from discreet.engines.connect import open_table
from discreet.sql import build

def peak():
    # Not getrusage: its maximum is inherited from the process that started this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))

path, limit, job = sys.argv[1:]
before = peak()
table = open_table(path, memory_limit=limit)
code = build.column("code")
if job == "group":
    groups = build.select(code, build.alias_as(build.count_star(), "n"), source=table.relation)
    kept = table.engine.keep(groups.group_by(code.copy()))
    answer = table.engine.run(build.select(build.count_star(), source=kept)).column(0)[0].as_py()
elif job == "sort":
    query = build.order_nulls_last(build.select(code, source=table.relation), [code.copy()])
    answer = sum(batch.num_rows for batch in table.engine.stream(query))
else:
    query = build.select(exp.Star(), source=table.relation)
    answer = sum(batch.num_rows for batch in table.engine.stream(query))
table.engine.close()
print(json.dumps({"answer": answer, "grown": peak() - before}))
"""


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Parquet file of random codes, several times the limit."""
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    with duckdb.connect() as connection:
        codes = connection.sql(
            # Long, as it is bytes that fill memory, and rows that take time.
            "SELECT repeat(md5(i::text), 4) AS code FROM range(?) AS t(i)",
            params=[ROWS],
        )
        codes.write_parquet(str(path), compression="uncompressed")
    return path


@pytest.mark.parametrize("job", ["group", pytest.param("sort", marks=pytest.mark.soak), "stream"])
def test_a_table_larger_than_memory_is_worked_through(large_file: Path, job: str) -> None:
    assert large_file.stat().st_size > 3 * LIMIT_MEGABYTES * 1e6
    command = [sys.executable, "-c", MEASURED, str(large_file), f"{LIMIT_MEGABYTES}MB", job]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    measured = json.loads(result.stdout)
    assert measured["answer"] == ROWS
    assert measured["grown"] < LIMIT_MEGABYTES + ALLOWANCE_MEGABYTES


@pytest.mark.parametrize("limit", ["lots", "4", "-1GB", ""])
def test_a_limit_that_is_no_size_is_wrong_usage(limit: str) -> None:
    with pytest.raises(WrongUsage, match="such as 500MB or 4GB"):
        DuckDB(memory_limit=limit)
