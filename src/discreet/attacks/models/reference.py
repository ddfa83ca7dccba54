"""Models and recipes by name: a file, or `module:attribute`; both run code, and only if it is allowed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra, ModelFailed, SourceNotFound, WrongUsage

PICKLES = (".joblib", ".pickle", ".pkl")


def load_reference(reference: object, *, run_code: bool, noun: str) -> Any:
    """Return what a reference names; anything but a text or a path is taken as it is.

    Args:
        reference: A file of joblib or pickle, `module:attribute`, or an object.
        run_code: Whether its code may be executed.
        noun: What it is called in messages, such as `model`.

    Raises:
        WrongUsage: It is no such name, or running its code was not allowed.
        SourceNotFound: There is no such file.
        ModelFailed: The file cannot be loaded.
    """
    if not isinstance(reference, (str, Path)):
        return reference
    path = Path(reference)
    is_pickle = path.suffix.lower() in PICKLES
    module, colon, name = str(reference).partition(":")
    if not is_pickle and not (colon and module and name):
        endings = ", ".join(PICKLES)
        raise WrongUsage(
            f"'{reference}' names no {noun}: write a file that ends in {endings}, or module:attribute."
        )
    if not run_code:
        raise WrongUsage(
            f"Loading '{reference}' runs the code in it with your rights. If you trust where it comes from, "
            "add --run-code."
        )
    return _load_pickle(path) if is_pickle else _import_attribute(module, name)


def _load_pickle(path: Path) -> Any:
    if not path.is_file():
        raise SourceNotFound(f"There is no file '{path}'. Check the name and the folder.")
    try:
        import joblib
    except ImportError as error:
        raise MissingExtra(what=f"Loading {path.name}", extra="attack") from error
    try:
        return joblib.load(path)
    except Exception as error:  # noqa: BLE001 -- a pickle may raise anything, and quote what it holds
        raise ModelFailed(
            f"{path.name} cannot be loaded: it raised {type(error).__name__}. Save it with the versions of "
            "scikit-learn and joblib that are installed here."
        ) from None


def _import_attribute(module: str, name: str) -> Any:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(import_module(module), name, None)
    except ImportError as error:
        raise WrongUsage(
            f"The module '{module}' cannot be imported. Run this where it can, such as in its folder."
        ) from error
    if found is None:
        raise WrongUsage(f"The module '{module}' has no '{name}'.")
    return found
