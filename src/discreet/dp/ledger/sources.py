"""The tables that were asked about: which accounts pay, and what recognizes them elsewhere."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, insert, select

from discreet.dp.ledger import journal, schema
from discreet.dp.ledger.records import Source

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Row

_source, _sighting = schema.source, schema.sighting


def listed(connection: Connection) -> list[Source]:
    """Return all sources by id."""
    return [_read(row) for row in connection.execute(select(_source).order_by(_source.c.id))]


def labeled(connection: Connection) -> list[Source]:
    """Return all sources by id, without their sketches."""
    columns = [column for column in _source.c if column.name != "sketch"]
    rows = connection.execute(select(*columns).order_by(_source.c.id))
    return [_described(row, b"") for row in rows]


def find(connection: Connection, place: str) -> Source | None:
    """Return the source that was found at `place`."""
    query = select(_source).join(_sighting, _sighting.c.source == _source.c.id)
    row = connection.execute(query.where(_sighting.c.place == place)).one_or_none()
    return None if row is None else _read(row)


def add(
    connection: Connection,
    source: Source,
    *,
    place: str | None,
    seen: frozenset[str] | None,
    at: datetime,
) -> bool:
    """Write `source` and where it was found, unless there are others than `seen` by now."""
    last = journal.take_head(connection)
    known = frozenset(connection.scalars(select(_source.c.id)))
    if seen is not None and known - {source.id} != seen - {source.id}:
        return False
    if source.id not in known:
        detail = told(source)
        connection.execute(
            insert(_source).values(
                id=source.id,
                accounts=json.dumps(detail["accounts"]),
                label=source.label,
                declared=int(source.is_declared),
                sketch=source.sketch,
            )
        )
        line = journal.Line(
            journal.written_time(at),
            "source",
            source.accounts[0],
            source.id,
            json.dumps(detail),
        )
        journal.append(connection, last, [line])
    if place is not None:
        connection.execute(delete(_sighting).where(_sighting.c.place == place))
        connection.execute(insert(_sighting).values(place=place, source=source.id))
    return True


def told(source: Source) -> dict[str, Any]:
    """Return what the entry of a source says."""
    return {
        "accounts": list(source.accounts),
        "label": source.label,
        "declared": source.is_declared,
        "sketch": hashlib.sha256(source.sketch).hexdigest(),
    }


def _read(row: Row[Any]) -> Source:
    return _described(row, bytes(row.sketch))


def _described(row: Row[Any], sketch: bytes) -> Source:
    return Source(row.id, tuple(json.loads(row.accounts)), row.label, bool(row.declared), sketch)
