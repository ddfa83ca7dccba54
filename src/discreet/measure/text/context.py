"""The words before a place in a text, looked up rather than searched for."""

from __future__ import annotations

_CLOSING = ' \t\n\u00a0:,("“#=.-'


def word_before(text: str, start: int) -> str:
    """Return the last word before `start` in lower case; punctuation in between is skipped.

    >>> word_before("Her daughter, Ann", 14)
    'daughter'
    """
    window = text[max(0, start - 28) : start].rstrip(_CLOSING)
    cut = max(window.rfind(" "), window.rfind("\n"), window.rfind("("), window.rfind("\x00"))
    return window[cut + 1 :].lower().strip('"“,;')
