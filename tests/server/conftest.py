"""The folder of a server that was started before: much quicker to start than an empty one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from discreet.server.settings import read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return what makes the folder of a server that was started once, to be copied."""

    @cache
    def make(policy: Path | None) -> Path:
        data = tmp_path_factory.mktemp("first") / "data"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
            open_server(read_settings(data, port=0, policy=policy)).server.close()
        return data

    return make
