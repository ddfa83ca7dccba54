"""Released tables as bytes: what the ledger keeps of a question, so that its noise is drawn once."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa

from discreet.answer.perturb import ReleasedTable

_NAME, _SHIFTS, _CUT = b"discreet.leaf", b"discreet.shifts", b"discreet.cut"


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
    """Return the released tables that `pack_released` made bytes of."""
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
