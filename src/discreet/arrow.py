"""Arrow by name: pyarrow ships no types, so what is used of it is annotated here."""

from __future__ import annotations

from typing import Any

import pyarrow.compute

ArrowArray = Any  # pyarrow.Array
pc: Any = pyarrow.compute
