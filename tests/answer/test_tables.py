"""Which table a source and a policy make of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.answer.curator import open_curator

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_spark_file_is_asked_under_the_name_that_a_policy_gives_it(spark_engine, tmp_path: Path):
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"sick": [True, False, True]}), file)
    policy = tmp_path / "policy.yaml"
    policy.write_text("tables:\n  people:\n    columns: {sick: sensitive}\n")
    with open_curator(f"spark:{file}", policy, table="people", ledger=":memory:") as curator:
        answer = curator.ask("SELECT count(*) AS n FROM people WHERE sick", epsilon=1)
    assert answer.columns == ("n",)
