"""What nobody foresaw while people's rows were read: told without its words, which may quote them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from discreet.errors import Bug, DiscreetError

Given = TypeVar("Given")


def hide_unexpected_errors(call: Callable[[], Given]) -> Given:
    """Return `call()`; an unforeseen error becomes one that quotes nothing.

    Raises:
        Bug: It failed in a way that nobody foresaw.
    """
    try:
        return call()
    except DiscreetError:
        raise
    except Exception as error:  # noqa: BLE001
        kind = type(error).__name__
    raise Bug(
        f"The question could not be answered ({kind}); what it costs is spent. Please report the "
        "question and the policy."
    )
