"""A concept: what a column may be about, and the words that give it away."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.policy.model import ColumnRole

FREE_TEXT = "free text"


@dataclass(frozen=True)
class Concept:
    """What a column is about: its role, why, and its place in HIPAA's Safe Harbor list.

    `phrases` are what people name columns with, separated by commas: English first, then German,
    French, Spanish, Polish, Italian, Dutch and Portuguese, then the names of known systems. `=word`
    counts only when it is the whole name, because the word means too much elsewhere (`name`,
    `state`); `~word` only when no other phrase is found. Accents may be written: a name without
    them, or with `ae` for `ä`, is found, too.

    `values` are words of cells, `stem*` and `*ending` included; what stands after the `|` supports
    the others and decides nothing alone. `is_written` says that values are words: a number under
    such a name counts something. `is_code` says that numbers under such a name are names of
    categories, without an order.
    """

    name: str
    role: ColumnRole
    reason: str
    phrases: str
    safe_harbor: str | None = None
    values: str = ""
    is_written: bool = False
    is_code: bool = False
