"""The server: the same functions over the PostgreSQL protocol and HTTP."""
