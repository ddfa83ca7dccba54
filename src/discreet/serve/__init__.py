"""The server: the same functions over the PostgreSQL protocol and HTTP.

The package can be called: `discreet.serve(policy="policy.yaml")` is `discreet.api.serve.serve`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that is also the function of its name: importing it must not hide the function."""

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, which lies above this package and is therefore found by its name."""
        return import_module("discreet.api.serve").serve

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.__wrapped__(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
