"""Released tables as bytes: what the ledger keeps of a question, so that its noise is drawn once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from discreet.answer.perturb import ReleasedTable
from discreet.errors import EngineFailed

FAILED = b"failed"  # stands in the ledger for noise that could not be drawn
_NAME, _SHIFTS, _CUT = b"discreet.leaf", b"discreet.shifts", b"discreet.cut"


@dataclass(frozen=True)
class MeasuredTables:
    """What was released for a plan, what is left of the budgets, and whether it was known or paid for before."""

    released: Mapping[str, ReleasedTable]
    remaining: Mapping[str, Any]
    is_known: bool
    is_new: bool
    cautions: tuple[str, ...]


def pack_released(released: Mapping[str, ReleasedTable]) -> bytes:
    """Return the released table of every leaf as bytes: Arrow streams, one after the other."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for name, leaf in released.items():
        metadata = {_NAME: name.encode(), _SHIFTS: str(leaf.shifts).encode()}
        if leaf.cut is not None:
            metadata[_CUT] = json.dumps(leaf.cut).encode()
        table = leaf.table.replace_schema_metadata(metadata)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack_released(packed: bytes) -> dict[str, ReleasedTable]:
    """Return the released tables that `pack_released` made bytes of.

    Raises:
        EngineFailed: Noise could not be drawn when they were paid for.
    """
    if packed == FAILED:
        raise EngineFailed(
            "The question was charged, but noise could not be added to what it counts. Ask for fewer "
            "groups or aggregates, or another epsilon."
        )
    source = pa.BufferReader(packed)
    found: dict[str, ReleasedTable] = {}
    while source.tell() < len(packed):
        table = pa.ipc.open_stream(source).read_all()
        metadata = table.schema.metadata
        cut = tuple(json.loads(metadata[_CUT])) if _CUT in metadata else None
        found[metadata[_NAME].decode()] = ReleasedTable(
            table.replace_schema_metadata(None), int(metadata[_SHIFTS]), cut
        )
    return found
