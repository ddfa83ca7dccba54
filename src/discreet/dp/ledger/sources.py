"""The tables that were asked about: which accounts pay, and what recognizes them elsewhere."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from discreet.dp.ledger import journal, schema
from discreet.dp.ledger.records import LedgerSource

_source, _sighting = schema.source, schema.sighting


def list_sources(connection: Connection) -> list[LedgerSource]:
    """Return all sources by id."""
    return [_read(row) for row in connection.execute(select(_source).order_by(_source.c.id))]


def list_source_labels(connection: Connection) -> list[LedgerSource]:
    """Return all sources by id, without their sketches."""
    columns = [column for column in _source.c if column.name != "sketch"]
    rows = connection.execute(select(*columns).order_by(_source.c.id))
    return [_make_source(row, b"") for row in rows]


def find_source(connection: Connection, place: str) -> LedgerSource | None:
    """Return the source that was found at `place`."""
    query = select(_source).join(_sighting, _sighting.c.source == _source.c.id)
    row = connection.execute(query.where(_sighting.c.place == place)).one_or_none()
    return None if row is None else _read(row)


def add_source(
    connection: Connection,
    source: LedgerSource,
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
    lines: list[journal.LedgerLine] = []
    if source.id not in known:
        detail = describe_source(source)
        connection.execute(
            insert(_source).values(
                id=source.id,
                accounts=json.dumps(detail["accounts"]),
                label=source.label,
                declared=int(source.is_declared),
                sketch=source.sketch,
            )
        )
        line = journal.LedgerLine(
            journal.format_utc_time(at),
            "source",
            source.accounts[0],
            source.id,
            json.dumps(detail),
        )
        lines.append(line)
    if place is not None and _sighted_source(connection, place) != source.id:
        connection.execute(delete(_sighting).where(_sighting.c.place == place))
        connection.execute(insert(_sighting).values(place=place, source=source.id))
        lines.append(journal.sighting_line(place, source.id, at=at))
    if lines:
        journal.append_lines(connection, last, lines)
    return True


def _sighted_source(connection: Connection, place: str) -> str | None:
    return connection.scalar(select(_sighting.c.source).where(_sighting.c.place == place))


def describe_source(source: LedgerSource) -> dict[str, Any]:
    """Return what the entry of a source says."""
    return {
        "accounts": list(source.accounts),
        "label": source.label,
        "declared": source.is_declared,
        "sketch": hashlib.sha256(source.sketch).hexdigest(),
    }


def _read(row: Row[Any]) -> LedgerSource:
    return _make_source(row, bytes(row.sketch))


def _make_source(row: Row[Any], sketch: bytes) -> LedgerSource:
    return LedgerSource(
        row.id, tuple(json.loads(row.accounts)), row.label, bool(row.declared), sketch
    )
