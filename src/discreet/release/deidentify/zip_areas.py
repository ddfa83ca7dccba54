"""ZIP codes as Safe Harbor lets them stay: three digits, or `000` where few people live."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pyarrow as pa

from discreet.arrow import ArrowArray, pc
from discreet.errors import SourceNotFound, UnreadableSource
from discreet.policy.hierarchies.values import text_of

SMALL = "000"
"""What stands for every area of 20,000 people or fewer."""

_ZIP = r"^([0-9]{5})([- ]?[0-9]{4})?$"
_MASKED = r"^([0-9]{3})([*xX]{2})?$"


@dataclass(frozen=True)
class SmallAreas:
    """The three-digit prefixes of areas of 20,000 people or fewer, and their source."""

    prefixes: frozenset[str]
    source: str


def known_small_areas() -> SmallAreas:
    """Return the list that is shipped; `data/zip3/README.md` names its origin.

    >>> small = known_small_areas()
    >>> len(small.prefixes), "036" in small.prefixes, "100" in small.prefixes
    (23, True, False)
    """
    text = (files("discreet") / "data" / "zip3" / "restricted.csv").read_text("utf-8")
    prefixes = frozenset(row["prefix"] for row in csv.DictReader(text.splitlines()))
    source = (
        "17 prefixes of the 2000 Census (HHS guidance of 2012), and 6 that later counts found small"
    )
    return SmallAreas(prefixes, source)


def read_small_areas(path: Path) -> SmallAreas:
    """Return the prefixes of a file: three digits in each line, text after `#` is left out."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except FileNotFoundError:
        raise SourceNotFound(f"There is no file {path}. Check --restricted-zips.") from None
    except (OSError, UnicodeDecodeError):
        raise UnreadableSource(f"{path} cannot be read as text. Check --restricted-zips.") from None
    words = {number: line.partition("#")[0].strip() for number, line in enumerate(lines, start=1)}
    filled = {number: word for number, word in words.items() if word}
    wrong = [
        number for number, word in filled.items() if not re.fullmatch(r"\d{3}", word, re.ASCII)
    ]
    if wrong:
        raise UnreadableSource(
            f"{path}:{wrong[0]}: this is no prefix. Write three digits in each line, such as 036."
        )
    if not filled:
        raise UnreadableSource(f"{path} holds no prefix. Write three digits in each line.")
    return SmallAreas(frozenset(filled.values()), path.name)


def shorten_zips(values: ArrowArray, *, small: frozenset[str]) -> ArrowArray:
    """Return the first three digits of each ZIP code, `000` for a small area.

    Codes that lost their leading zeros get them back; ZIP+4 loses its last four digits. A column
    whose values all have three digits at most is taken for prefixes. What is no ZIP code, such as
    the postcode of another country, goes missing: the rule allows three digits of ZIP codes only.

    >>> shorten_zips(pa.array([501, 12407, 3601]), small=frozenset({"036"})).to_pylist()
    ['005', '124', '000']
    >>> shorten_zips(pa.array(["12407-0001", "SW1A 1AA"]), small=frozenset()).to_pylist()
    ['124', None]
    """
    texts = pc.utf8_trim_whitespace(text_of(values))
    is_digits = pc.match_substring_regex(texts, r"^[0-9]+$")
    longest = pc.max(pc.if_else(is_digits, pc.utf8_length(texts), 0)).as_py() or 0
    if longest > 3:
        width = pc.if_else(pc.greater(pc.utf8_length(texts), 5), 9, 5)
        padded = pc.if_else(
            pc.equal(width, 9),
            pc.utf8_lpad(texts, width=9, padding="0"),
            pc.utf8_lpad(texts, width=5, padding="0"),
        )
    else:
        padded = pc.utf8_lpad(texts, width=3, padding="0")
    texts = pc.if_else(is_digits, padded, texts)
    is_zip = pc.or_(pc.match_substring_regex(texts, _ZIP), pc.match_substring_regex(texts, _MASKED))
    prefix = pc.utf8_slice_codeunits(texts, 0, 3)
    is_small = pc.is_in(prefix, value_set=pa.array(sorted(small), pa.string()))
    shortened = pc.if_else(is_small, SMALL, prefix)
    return pc.if_else(is_zip, shortened, pa.scalar(None, pa.string()))
