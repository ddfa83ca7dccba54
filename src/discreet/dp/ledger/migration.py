"""A ledger of format 3 is brought to the present one: what it kept beside its chain is entered there."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, select

from discreet.dp.ledger import journal, schema


def enter_kept(connection: Connection, last: journal.LedgerHead) -> None:
    """Enter drafts, sightings and the key's hash as they are, unless they were.

    They were not authenticated before, so that they are believed once. An entry records it, so that the
    state before is an earlier one, which other stores know.
    """
    if not last.is_former:
        return
    pins = connection.execute(select(schema.pin).order_by(schema.pin.c.account))
    sightings = connection.execute(select(schema.sighting).order_by(schema.sighting.c.place))
    digests = connection.scalars(select(schema.secret.c.hash))
    lines = [
        journal.format_line(),
        *(journal.draft_line(row.account, row.content) for row in pins),
        *(journal.sighting_line(row.place, row.source, at=None) for row in sightings),
        *(journal.secret_line(digest) for digest in digests),
    ]
    journal.append_lines(connection, replace(last, known_heads=schema.NO_HEADS), lines)
