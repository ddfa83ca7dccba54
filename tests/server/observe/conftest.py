"""Servers that are observed, with a user who has nothing but a budget."""

from __future__ import annotations

from tests.server.gateway.conftest import connect, hospital, open_server, server

__all__ = ["connect", "hospital", "open_server", "server"]
