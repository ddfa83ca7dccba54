r"""The third set of texts with labelled identifiers: written by hand, and sentence frames filled from lists.

`bench/texts/third/LANGUAGE.txt` has one text in each line, `\n` for the end of a line in it, and `# genre` above the texts
of a genre. `[n Ada Ng]` is a label, with the letter of its class in `MARKS`; `o` marks what may be found or not: a holiday, a
month without a day, a character of a fairy tale, the number of a spare part. A line with slots (`{f}`) is a frame, which is filled three times from the
lists in `LANGUAGE.yaml`, always with the same values. The author had not read the finder; no rule is tuned on these texts.
"""

from __future__ import annotations

import random
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = Path(__file__).parent / "texts" / "third"
FILLED = 3  # how often each frame is filled
MARKS = {
    "n": "name",
    "p": "place",
    "t": "phone",
    "k": "plate",
    "d": "date",
    "e": "email",
    "i": "id",
    "o": "either",
}
SLOTS = {
    **dict.fromkeys(("f", "l", "n", "n2", "lf", "lf2", "i", "hl", "hn", "nl", "N", "N2", "L"), "n"),
    **dict.fromkeys(("c", "v", "s", "z", "saint", "school"), "p"),
    **dict.fromkeys(("mrn", "cust", "nid", "iban"), "i"),
    **dict.fromkeys(("d", "dm"), "d"),
    "p": "t", "k": "k", "e": "e",
}  # fmt: skip
_MARK = re.compile(r"\[(?P<mark>[a-z]) (?P<text>[^\[\]]+)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_LISTED = {"c": "towns", "v": "villages", "s": "streets", "z": "postcodes", "saint": "saints",
           "school": "schools"}  # fmt: skip
_FORMS = {"p": "phones", "k": "plates", "mrn": "records", "cust": "references"}
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_DAYS = (*range(4, 21), *range(24, 29))  # those that English writes with "th"


@dataclass(frozen=True)
class LabelledText:
    """A text, where its identifiers are (start, end and class), and whether a frame was filled for it."""

    language: str
    genre: str
    text: str
    spans: tuple[tuple[int, int, str], ...]
    is_filled: bool


def read_texts(language: str) -> Iterator[LabelledText]:
    """Yield all texts of a language, the frames filled."""
    filler, genre = ListFiller(language), ""
    for line in (FOLDER / f"{language}.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            genre = line[2:]
            continue
        is_frame = _SLOT.search(line) is not None
        for _ in range(FILLED if is_frame else 1):
            text, spans = parse_marks(_SLOT.sub(filler.fill_slot, line))
            yield LabelledText(language, genre, text, spans, is_frame)


def parse_marks(marked: str) -> tuple[str, tuple[tuple[int, int, str], ...]]:
    """Return a text without its marks, and the spans that they mark.

    >>> parse_marks("Dr [n Ng] of [p Bath]")
    ('Dr Ng of Bath', ((3, 5, 'name'), (9, 13, 'place')))
    """
    text, spans, done = "", [], 0
    plain = marked.replace("\\n", "\n")
    for mark in _MARK.finditer(plain):
        text += plain[done : mark.start()]
        spans.append((len(text), len(text) + len(mark["text"]), MARKS[mark["mark"]]))
        text, done = text + mark["text"], mark.end()
    return text + plain[done:], tuple(spans)


class ListFiller:
    """Values for the slots of one language, drawn from its lists."""

    def __init__(self, language: str) -> None:
        self.lists: dict[str, list[str]] = yaml.safe_load(
            (FOLDER / f"{language}.yaml").read_text("utf-8")
        )
        self.chance = random.Random(f"third {language}")
        self._makers: dict[str, Callable[[], str]] = {
            "f": lambda: self._choose("given"),
            "l": lambda: self._choose("family"),
            "n": self._make_name,
            "n2": lambda: f"{self._choose('given')} {self._make_two_families()}",
            "lf": lambda: f"{self._choose('family')}, {self._choose('given')}",
            "lf2": lambda: f"{self._make_two_families()}, {self._choose('given')}",
            "i": lambda: f"{self._choose('given')[0]}. {self._choose('family')}",
            "hl": lambda: self._make_two_families("-"),
            "hn": lambda: f"{self._choose('given')} {self._make_two_families('-')}",
            "nl": lambda: self._make_name().lower(),
            "nid": self._make_national_number,
            "iban": self._make_account,
            "d": lambda: self._make_date("numeric" if self.chance.random() < 0.6 else "worded"),
            "dm": lambda: self._make_date("dayless"),
            "e": self._make_email,
        }

    def fill_slot(self, slot: re.Match[str]) -> str:
        """Return a marked value for a slot of a frame."""
        name = slot[1]
        value = self._make_value(name.lower())
        return f"[{SLOTS[name]} {value.upper() if name[0].isupper() else value}]"

    def _make_value(self, slot: str) -> str:
        if slot in _LISTED:
            return self._choose(_LISTED[slot])
        if slot in _FORMS:
            return self._draw(self._choose(_FORMS[slot]))
        return self._makers[slot]()

    def _choose(self, key: str) -> str:
        return self.chance.choice(self.lists[key])

    def _draw(self, form: str) -> str:
        digits = re.sub("#", lambda _: str(self.chance.randrange(10)), form)
        return re.sub(r"\?", lambda _: self.chance.choice("BCDFGHJKLMNPRSTVWXYZ"), digits)

    def _make_name(self) -> str:
        if self.chance.random() < 0.2:
            return self._choose("full")
        return f"{self._choose('given')} {self._choose('family')}"

    def _make_two_families(self, between: str = " ") -> str:
        return between.join(self.chance.sample(self.lists["family"], 2))

    def _make_date(self, key: str) -> str:
        day, month = self.chance.choice(_DAYS), self.chance.randrange(12)
        year = self.chance.randrange(1936, 2025)
        named = {"month": self.lists["months"][month], "s": f"{year % 100:02}"}
        return self._choose(key).format(d=day, m=month + 1, y=year, **named)

    def _make_email(self) -> str:
        plain = unicodedata.normalize("NFKD", f"{self._choose('given')}.{self._choose('family')}")
        number = self.chance.choice(("", "", "7", "_84"))
        return f"{re.sub('[^a-z.]', '', plain.lower())}{number}@{self._choose('hosts')}"

    def _make_national_number(self) -> str:
        form = self._choose("national")
        if form == "dni":
            number = self.chance.randrange(10**7, 10**8)
            return f"{number}{self.chance.choice(('', '-'))}{_DNI[number % 23]}"
        if form == "nir":
            number = int(self._draw("2##0")) * 10**9 + int(self._draw("575######"))
            return f"{number}{97 - number % 97:02}"
        return self._draw(form)

    def _make_account(self) -> str:
        country, placed, rest = self._draw(self._choose("accounts")).partition("{}")
        if not placed:
            return country
        digits = "".join(str(int(sign, 36)) for sign in f"{rest}{country}00")
        number = f"{country}{98 - int(digits) % 97:02}{rest}"
        is_grouped = self.chance.random() < 0.6
        return re.sub(r"(.{4})(?=.)", r"\1 ", number) if is_grouped else number
