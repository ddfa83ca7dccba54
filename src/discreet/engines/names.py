"""Column names that are distinct on every engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from discreet.errors import DuplicateColumns


def refuse_duplicates(names: Sequence[str], *, where: str) -> None:
    """Refuse names that DuckDB treats as equal, which includes those that differ by case only."""
    often = Counter(name.casefold() for name in names)
    shared = [name for name in names if often[name.casefold()] > 1]
    if shared:
        listed = ", ".join(f"'{name}'" for name in dict.fromkeys(shared))
        raise DuplicateColumns(
            f"{where} has several columns called {listed} (case does not count). "
            "Rename them so that every column has a name of its own."
        )
