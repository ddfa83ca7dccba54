"""PostgreSQL: the engine of a server's tables, and a server behind the gateway."""

from discreet.engines.postgres.engine import PostgreSQL

__all__ = ["PostgreSQL"]
