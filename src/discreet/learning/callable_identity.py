"""What a callable is, as text: two that may return different numbers have different texts."""

from __future__ import annotations

import hashlib
import secrets
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_DEEPEST = 50


class _UnknownPart(Exception):
    """A part of a callable cannot be described."""


def describe_callable(call: Any) -> str:
    """Return a hash of all that decides what `call` returns; a random text where that cannot be known.

    A function is its code, constants, defaults, and what it uses of its module and of functions around it, read
    in the same way. What belongs to an installed library or to Python is its name and the library's version.
    Any other object, such as an instance with attributes, is a new one each time: it is paid for again, and
    no result of another callable is taken for its own.

    >>> describe_callable(len) == describe_callable(len), describe_callable(len) == describe_callable(max)
    (True, False)
    >>> describe_callable(lambda block: 1) == describe_callable(lambda block: 2)
    False
    """
    try:
        text = repr(_Description().describe(call, 0))
    except _UnknownPart:
        text = secrets.token_hex(32)
    return hashlib.sha256(f"{sys.version_info[:3]} {text}".encode()).hexdigest()


class _Description:
    """Describes the parts of one callable, each function once."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}  # the number of each function, by its identity

    def describe(self, part: Any, depth: int) -> Any:
        """Return plain values that differ where the part does."""
        if depth > _DEEPEST:
            raise _UnknownPart
        if type(part) in _PLAIN:
            return type(part).__name__, repr(part)
        if type(part) in (tuple, list, frozenset, set, dict):
            return self._describe_collection(part, depth)
        if isinstance(part, ModuleType) and _is_installed(part.__name__):
            return "module", part.__name__, _find_version(part.__name__)
        if _is_library_part(part):
            return "library", part.__module__, part.__qualname__, _find_version(part.__module__)
        if isinstance(part, FunctionType):
            return self._describe_function(part, depth)
        raise _UnknownPart

    def _describe_collection(self, part: Any, depth: int) -> Any:
        items = part.items() if type(part) is dict else part
        found = [self.describe(one, depth + 1) for one in items]
        is_ordered = type(part) in (tuple, list, dict)
        return type(part).__name__, found if is_ordered else sorted(map(repr, found))

    def _describe_function(self, function: FunctionType, depth: int) -> Any:
        if id(function) in self._seen:
            return "function", self._seen[id(function)]
        self._seen[id(function)] = len(self._seen)
        code, known = function.__code__, function.__globals__
        used = {name: known[name] for name in _list_names(code) if name in known}
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        parts = [function.__defaults__, function.__kwdefaults__, cells, used]
        return (
            "function",
            self._describe_code(code, depth),
            [self.describe(one, depth + 1) for one in parts],
        )

    def _describe_code(self, code: CodeType, depth: int) -> Any:
        constants = [
            self._describe_code(one, depth + 1)
            if isinstance(one, CodeType)
            else self.describe(one, depth + 1)
            for one in code.co_consts
        ]
        names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
        return code.co_code.hex(), code.co_exceptiontable.hex(), counts, names, constants


def _list_names(code: CodeType) -> list[str]:
    """Return the global names that a function and those inside it may use."""
    found = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found.update(_list_names(one))
    return sorted(found)


def _is_library_part(part: Any) -> bool:
    """Return whether an installed module has this very object by its name."""
    home, name = getattr(part, "__module__", None), getattr(part, "__qualname__", None)
    if not (isinstance(home, str) and isinstance(name, str) and _is_installed(home)):
        return False
    found: Any = sys.modules.get(home)
    for step in name.split("."):
        found = getattr(found, step, None)
    return found is part


def _is_installed(home: str) -> bool:
    """Return whether a module is Python's own, or of a library that says its version."""
    top = home.partition(".")[0]
    is_own = top in sys.stdlib_module_names and top != "__main__"
    return is_own or _find_version(home) is not None


def _find_version(home: str) -> str | None:
    module = sys.modules.get(home.partition(".")[0])
    version = getattr(module, "__version__", None)
    return version if isinstance(version, str) else None
