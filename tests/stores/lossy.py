"""A wire to a real PostgreSQL server that is cut when a commit was sent, before its answer."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from pathlib import Path


class LossyWire:
    """Listens on a socket in `folder` and passes bytes on; `cuts` says how many commits go unheard."""

    def __init__(self, url: str, folder: Path) -> None:
        self._target = f"{parse_qs(urlsplit(url).query)['host'][0]}/.s.PGSQL.5432"
        self.url = url.replace(parse_qs(urlsplit(url).query)["host"][0], str(folder))
        self.cuts = 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._target)
        threading.Thread(target=self._answer, args=[server, client], daemon=True).start()
        while data := self._read(client):
            if b"COMMIT\x00" in data and self.cuts > 0:
                self.cuts -= 1
                client.shutdown(socket.SHUT_RDWR)
                server.sendall(data)
                server.recv(1000)
                break
            with suppress(OSError):  # the server went first
                server.sendall(data)
        server.close()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        while data := self._read(server):
            try:
                client.sendall(data)
            except OSError:
                return

    @staticmethod
    def _read(source: socket.socket) -> bytes:
        try:
            return source.recv(65536)
        except OSError:
            return b""
