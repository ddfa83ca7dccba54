"""`discreet.sample` and `sample_tables`: more rows of a model of synthetic tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from discreet.errors import WrongUsage
from discreet.release.synthesize.family_file import SavedTables, read_tables_model
from discreet.release.synthesize.model_file import SavedModel, read_model
from discreet.release.synthesize.publish import write_synthetic_rows
from discreet.release.synthesize.record import SampledTable, SampledTables, SyntheticSample
from discreet.release.synthesize.table_folder import (
    DEFAULT_FORMAT,
    require_file_format,
    require_table_folder,
    write_table_folder,
)
from discreet.release.write import parse_target


def sample(
    model: SavedModel | str | Path,
    *,
    rows: int,
    seed: int | None = None,
    output: str | Path | None = None,
    force: bool = False,
) -> SyntheticSample:
    """Return more rows of a model: they follow from what was paid for, and cost nothing.

    Args:
        model: A model, or the path of its file.
        rows: How many rows.
        seed: The same seed gives the same rows; without it they are new each time.
        output: Also write them to this file.
        force: Replace what is at `output`.

    >>> import discreet, pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 200})
    >>> made = discreet.synthesize(people, values={"sex": ["f", "m"]}, method="fast")
    >>> sample(made.model, rows=1000).frame.num_rows
    1000
    """
    require_drawable(rows)
    target = None if output is None else parse_target(output, force=force)
    known = model if isinstance(model, SavedModel) else read_model(Path(model))
    drawn = known.sample(rows, np.random.default_rng(seed))
    written = None if target is None else write_synthetic_rows(drawn, target)
    return SyntheticSample(rows, written, drawn)


def sample_tables(
    model: SavedTables | str | Path,
    *,
    rows: int,
    seed: int | None = None,
    output: str | Path | None = None,
    file_format: str | None = None,
    force: bool = False,
) -> SampledTables:
    """Return more rows of a model of several tables; keys refer to each other, and they cost nothing.

    Args:
        model: A model of several tables, or the path of its file.
        rows: How many rows of the parent table; its children are drawn with them.
        seed: The same seed gives the same rows; without it they are new each time.
        output: Also write them to this folder.
        file_format: The format of the files, by its ending, such as `csv`; by default `parquet`.
        force: Replace the folder, if it holds such tables only.

    >>> from discreet.policy import parse_policy
    >>> policy = parse_policy('''
    ... tables:
    ...   patients:
    ...     source: patients.csv
    ...     unit: patient_id
    ...     limits: {rows-per-unit: 1}
    ...     columns: {patient_id: {role: identifier, kind: text}, sex: {role: sensitive, kind: text, values: [F, M, NB]}}
    ...   visits:
    ...     source: visits.csv
    ...     unit: patient_id
    ...     limits: {rows-per-unit: 4}
    ...     columns:
    ...       patient_id: {role: identifier, kind: text, references: patients.patient_id}
    ...       ward: {role: sensitive, kind: text, values: [cardiology, surgery]}
    ... ''')
    >>> from discreet.api.synthesize_tables import synthesize_tables
    >>> made = synthesize_tables(
    ...     "patients.csv", policy, children=["visits"], method="fast", ledger=":memory:"
    ... )
    >>> more = sample_tables(made.model, rows=10)
    >>> [one.table for one in more.tables], more.tables[0].rows
    (['patients', 'visits'], 10)
    """
    require_drawable(rows)
    ending = require_file_format(file_format or DEFAULT_FORMAT)
    known = model if isinstance(model, SavedTables) else read_tables_model(Path(model))
    if output is not None:
        names = [one.name for one in known.tables]
        require_table_folder(Path(output), names, force=force)
    drawn = known.sample(rows, np.random.default_rng(seed))
    made = [SampledTable(one.num_rows, _rows=one, table=name) for name, one in drawn.items()]
    if output is None:
        return SampledTables(tuple(made))
    written = write_table_folder(Path(output), drawn, ending)
    tables = [replace(one, output=place) for one, place in zip(made, written, strict=True)]
    return SampledTables(tuple(tables), str(output))


def require_drawable(rows: int) -> None:
    """Refuse a number of rows that no table has."""
    if rows < 1:
        raise WrongUsage(f"A table of {rows} rows cannot be drawn. Ask for 1 or more.")
