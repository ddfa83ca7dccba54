"""Of two servers that both write, the one that was promoted last is believed."""

from __future__ import annotations

from typing import Any


class Fence:
    """Remembers the newest timeline that was seen, and refuses servers of earlier ones.

    Who was the primary before another was promoted has missed what was written since. A process
    that has just started has seen nothing: whoever promotes a server must stop the old one.
    """

    def __init__(self) -> None:
        self._timeline = 0

    def check(self, raw: Any) -> None:
        """Refuse a psycopg connection to an earlier primary.

        Raises:
            psycopg.OperationalError: it is one.
        """
        import psycopg

        with raw.cursor() as cursor:
            cursor.execute("SELECT pg_is_in_recovery()")
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)")
            timeline = int(cursor.fetchone()[0], 16)
        if timeline < self._timeline:
            raise psycopg.OperationalError("an earlier primary")
        self._timeline = timeline
