"""A mechanism by its Python name, `module:function`: importing and calling it runs its code."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import WrongUsage

if TYPE_CHECKING:
    from discreet.attacks.audit.mechanism import Mechanism

DRAWN_FRESH = 20
_SESSION = """
import importlib, json, sys
sys.path.insert(0, "")
module, _, name = sys.argv[1].partition(":")
mechanism = getattr(importlib.import_module(module), name)
given = json.loads(sys.argv[2])
print(json.dumps([repr(mechanism(given)) for _ in range(int(sys.argv[3]))]))
"""


def load_mechanism(reference: str) -> Mechanism:
    """Return the function that `module:function` names, looked for in the working folder, too.

    Raises:
        WrongUsage: There is no such module or function.
    """
    module, colon, name = reference.partition(":")
    if not colon or not module or not name:
        raise WrongUsage(
            f"'{reference}' names no mechanism. Write discreet:laplace, or module:function for "
            "Python code of your own, which is then executed."
        )
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = getattr(import_module(module), name, None)
    except ImportError as error:
        raise WrongUsage(
            f"The module '{module}' cannot be imported. Run this where it can, such as in its folder."
        ) from error
    if not callable(found):
        raise WrongUsage(f"The module '{module}' has no function '{name}'.")
    return found


def fresh_outputs(reference: str, given: Any, *, count: int = DRAWN_FRESH) -> list[str] | None:
    """Return the first outputs of a new Python process, or None where it fails.

    A generator that is seeded when its module is imported gives the same ones in every process.
    """
    done = subprocess.run(  # noqa: S603 -- running that code is what the caller asked for
        [sys.executable, "-c", _SESSION, reference, json.dumps(given), str(count)],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    if done.returncode:
        return None
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return None
