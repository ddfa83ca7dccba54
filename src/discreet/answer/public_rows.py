"""Answers counted in rows that everyone may see, such as those of a synthetic table: exact, and free."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from discreet.answer.answer import Answer
from discreet.answer.statement import parse_question
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowTable
from discreet.errors import InvalidQuestion, did_you_mean
from discreet.sql import build


def answer_from_rows(
    question: str, rows: ArrowTable, *, name: str, cautions: tuple[str, ...] = ()
) -> Answer:
    """Return the answer to a question about a public table called `name`; no cell has an error.

    Raises:
        InvalidQuestion: The text cannot be read, or names another table.

    >>> people = pa.table({"sex": ["f", "m", "f"]})
    >>> answer_from_rows("SELECT count(*) AS n FROM people WHERE sex = 'f'", people, name="people").rows
    [[2]]
    """
    query = parse_question(question)
    engine = DuckDB(threads=1)
    try:
        engine.lock_external_access()
        relation = engine.register(rows)
        commons = {common.alias.casefold() for common in query.find_all(exp.CTE)}
        for node in list(query.find_all(exp.Table)):
            if node.name.casefold() in commons:
                continue
            if node.name.casefold() != name.casefold():
                raise InvalidQuestion(
                    f"There is no table '{node.name}' here: the model is of one table, which is called "
                    f"'{name}'.{did_you_mean(node.name, [name])}"
                )
            node.replace(build.aliased_table(relation.copy(), node.alias or name))
        table = engine.run(query)
    finally:
        engine.close()
    errors = [pa.nulls(table.num_rows, pa.float64())] * table.num_columns
    return Answer(
        spent={"epsilon": 0.0, "delta": 0.0},
        remaining={},
        noise="none",
        cautions=cautions,
        _table=table,
        _errors=pa.Table.from_arrays(errors, names=[str(i) for i in range(len(errors))]),
    )
