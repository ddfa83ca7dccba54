"""The server's process: no core dump, no debugger, and freed memory is overwritten."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_PR_SET_DUMPABLE = 4
_MARK = "DISCREET_OVERWRITES_MEMORY"
# Every object of Python and Arrow is freed by the C library, which overwrites freed memory at once:
# its per-thread cache would keep small blocks unchanged.
_OVERWRITING = {
    "PYTHONMALLOC": "malloc",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.perturb=90",
    _MARK: "1",
}
_PROGRAMS = ("discreet", "__main__.py")


def protect() -> None:
    """Disable core dumps, and access to this process by other processes of this user.

    Where the system has no such switch, this has no effect. An administrator of the machine can
    still read the memory of every process.
    """
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def overwrite_freed_memory() -> None:
    """Restart the program so that freed memory is overwritten; return if it already is.

    The allocator is configured when Python starts. The process keeps its number.
    """
    command = restart_command(sys.orig_argv, sys.argv, os.environ)
    if command is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(command[0], command, {**os.environ, **_OVERWRITING})  # noqa: S606


def restart_command(
    original: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
) -> list[str] | None:
    """Return the command that restarts this program, None where it must not be restarted.

    >>> restart_command(["python", "/bin/discreet", "serve"], ["/bin/discreet", "serve"], {})[1:]
    ['/bin/discreet', 'serve']
    >>> restart_command(["python", "-m", "pytest"], ["/lib/pytest/__main__.py"], {}) is None
    True
    """
    program = Path(arguments[0])
    is_ours = program.name == _PROGRAMS[0] or program.parts[-2:] == _PROGRAMS
    if not is_ours or _MARK in environment or not sys.executable:
        return None
    return [sys.executable, *original[1:]]
