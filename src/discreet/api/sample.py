"""`discreet.sample`: more rows of a synthetic table's model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.errors import WrongUsage
from discreet.release.synthesize.model_file import SavedModel, read_model
from discreet.release.synthesize.publish import write_synthetic_rows
from discreet.release.synthesize.record import SyntheticSample
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


def require_drawable(rows: int) -> None:
    """Refuse a number of rows that no table has."""
    if rows < 1:
        raise WrongUsage(f"A table of {rows} rows cannot be drawn. Ask for 1 or more.")
