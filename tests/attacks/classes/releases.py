"""Small releases, opened and read for the attacks on classes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.attacks.classes.histograms import opened_release, read_classes

if TYPE_CHECKING:
    from collections.abc import Generator

    from discreet.attacks.classes.histograms import SensitiveHistogram


@contextmanager
def open_histogram(
    groups: list, values: list, *, policy=None, unit: list | None = None, **columns: list
) -> Generator[SensitiveHistogram]:
    """Open a release with one quasi-identifier `group` and one sensitive column `value`."""
    who = {"who": unit} if unit is not None else {}
    table = pa.table({"group": groups, "value": values, **who, **columns})
    roles = {} if policy else {"quasi": ["group"], "sensitive": ["value"]}
    with opened_release(table, policy, unit="who" if unit else None, **roles) as bound:
        yield read_classes(bound).columns[0]
