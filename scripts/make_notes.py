"""Write labelled notes: `python scripts/make_notes.py [FILE]`, one JSON object per line.

A note has `text`, `spans` (start, end, class A to R of 45 CFR 164.514(b)(2)(i), and whether the name
is rare or misspelled), `fresh` (whether the misses on its sentences were left unread) and `names` (what the
name columns of the table would hold: patients and staff, not relatives, and spelled right).

The same script writes the same bytes on every machine: chance comes only from `Random.random()`.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

import note_words as words

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
NOTES = 800
SEED = 3
RARE_SHARE = 0.35
MISSPELLED_SHARE = 0.06
_SLOT = re.compile(r"\{(?P<kind>[A-R]?):(?P<maker>\w+)\}")


@dataclass(frozen=True)
class Person:
    """Somebody invented; `tag` says whether the name is known to the finder's lists."""

    given: str
    family: str
    tag: str


@dataclass
class Note:
    """A text in the making, with the places of its identifiers."""

    fresh: bool
    text: str = ""
    spans: list[tuple[int, int, str, str]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


class Writer:
    """Writes notes with its own chance."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of several."""
        return choices[int(self._random.random() * len(choices))]

    def chance(self, share: float) -> bool:
        """Return True in a share of cases."""
        return self._random.random() < share

    def number(self, low: int, high: int) -> int:
        """Return a whole number, both limits included."""
        return low + int(self._random.random() * (high - low + 1))

    def digits(self, count: int) -> str:
        """Return some digits."""
        return "".join(str(self.number(0, 9)) for _ in range(count))

    def letters(self, count: int) -> str:
        """Return capitals that are no digits' twins."""
        return "".join(self.pick("ABCDEFGHJKLMNPRSTUVWXYZ") for _ in range(count))

    def person(self) -> Person:
        """Return somebody invented."""
        rare = self.chance(RARE_SHARE)
        given = self.pick(words.RARE_GIVEN if rare else words.KNOWN_GIVEN)
        family = self.pick(words.RARE_FAMILY if rare else words.KNOWN_FAMILY)
        return Person(given, family, "rare" if rare else "known")

    def misspell(self, word: str) -> str:
        """Swap two inner letters, as fingers do."""
        if len(word) < 5:
            return word
        place = self.number(1, len(word) - 3)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    def note(self, *, fresh: bool) -> Note:
        """Write one note: sentences with identifiers between plain ones."""
        note = Note(fresh)
        patient, doctor = self.person(), self.person()
        note.names += [f"{patient.given} {patient.family}", f"{doctor.family}, {doctor.given}"]
        sentences = words.FRESH if fresh else words.SENTENCES
        for _ in range(self.number(4, 7)):
            for _ in range(self.number(0, 2)):
                self._add(note, self.pick(words.PLAIN), patient, doctor)
            self._add(note, self.pick(sentences), patient, doctor)
        self._add(note, self.pick(words.PLAIN), patient, doctor)
        return note

    def _add(self, note: Note, sentence: str, patient: Person, doctor: Person) -> None:
        if note.text:
            # What is no sentence, such as a signature, stands on a line of its own.
            note.text += "\n" if self.chance(0.4) or note.text[-1] not in ".!?" else " "
        end = 0
        for slot in _SLOT.finditer(sentence):
            note.text += sentence[end : slot.start()]
            end = slot.end()
            value, before, tag = self._make(slot["maker"], patient, doctor)
            note.text += before
            if slot["kind"]:
                note.spans.append((len(note.text), len(note.text) + len(value), slot["kind"], tag))
            note.text += value
        note.text += sentence[end:]

    def _make(self, maker: str, patient: Person, doctor: Person) -> tuple[str, str, str]:
        """Return a value, the words before it that are no identifier, and the name's tag."""
        if maker in ("patient", "last_first", "last", "given", "title_last"):
            return self._name(maker, patient)
        if maker.startswith("doctor"):
            return self._name(maker, doctor)
        if maker == "relative":
            return self._name("patient" if self.chance(0.5) else "given", self.person())
        return getattr(self, f"_{maker}")(), "", ""

    def _name(self, maker: str, person: Person) -> tuple[str, str, str]:
        given, family, tag = person.given, person.family, person.tag
        if self.chance(MISSPELLED_SHARE):
            family, tag = self.misspell(family), "misspelled"
            given = self.misspell(given) if maker == "given" else given
        title = self.pick(("Mr.", "Mrs.", "Ms.", "Mr", "Mrs"))
        forms = {
            "patient": [f"{given} {family}"] * 6
            + [f"{given} {self.letters(1)}. {family}", f"{given.upper()} {family.upper()}"],
            "last_first": [f"{family}, {given}", f"{family}, {given} {self.letters(1)}."],
            "last": [family],
            "given": [given],
            "title_last": [family],
            "doctor": [family, f"{given} {family}", f"{given[0]}. {family}"],
            "doctor_bare": [f"{given} {family}"],
            "doctor_credential": [f"{given} {family}", f"{given[0]}. {family}"],
        }
        before = {"title_last": f"{title} ", "doctor": self.pick(("Dr. ", "Dr ", "Doctor "))}.get(
            maker, ""
        )
        return self.pick(forms[maker]), before, tag

    def _drug(self) -> str:
        return self.pick(words.DRUGS)

    def _ill(self) -> str:
        return self.pick(words.ILLS)

    def _state(self) -> str:
        return self.pick(words.STATES)

    def _date(self) -> str:
        year, month, day = self.number(1941, 2023), self.number(1, 12), self.number(1, 28)
        name = words.MONTHS[month - 1]
        short = name[:3]
        nth = f"{day}{'th' if 10 < day < 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
        return self.pick((
            f"{month:02d}/{day:02d}/{year}", f"{month}/{day}/{year}", f"{month}/{day}/{year % 100:02d}", f"{day:02d}.{month:02d}.{year}",
            f"{year}-{month:02d}-{day:02d}", f"{name} {nth}, {year}", f"{name} {day}, {year}", f"{day} {name} {year}", f"{day} {short} {year % 100:02d}",
            f"{short} {day}, {year}", f"{day}-{short}-{year}", f"{nth} of {name} {year}", f"{month:02d}-{day:02d}-{year}", f"{short}. {day}, {year}",
        ))  # fmt: skip

    def _day(self) -> str:
        month, day = self.number(1, 12), self.number(1, 28)
        return self.pick(
            (
                f"{month}/{day}",
                f"{words.MONTHS[month - 1]} {day}",
                f"{day} {words.MONTHS[month - 1]}",
            )
        )

    def _month(self) -> str:
        return self.pick(words.MONTHS)

    def _month_year(self) -> str:
        month, year = self.number(1, 12), self.number(2001, 2023)
        name = words.MONTHS[month - 1]
        return self.pick((f"{name} {year}", f"{month:02d}/{year}", f"{name[:3]} {year}"))

    def _weekday_date(self) -> str:
        month = self.number(1, 12)
        return f"{self.pick(words.WEEKDAYS)}, {words.MONTHS[month - 1]} {self.number(1, 28)}"

    def _old_age(self) -> str:
        return str(self.number(90, 104))

    def _phone(self) -> str:
        area, line = self.number(201, 989), f"01{self.digits(2)}"
        return self.pick((
            f"({area}) 555-{line}", f"{area}-555-{line}", f"{area}.555.{line}", f"+1 {area} 555 {line}", f"1-{area}-555-{line}",
            f"{area} 555 {line}", f"({area})555-{line} x{self.digits(3)}", f"+44 20 7946 0{self.digits(3)}", f"+49 30 23125 {self.digits(3)}",
        ))  # fmt: skip

    def _fax(self) -> str:
        return self._phone().split(" x")[0]

    def _email(self) -> str:
        person = self.person()
        name = re.sub(r"[^a-z]", "", person.family.lower()) or "user"
        return f"{self.pick((person.given[0].lower() + '.', '', 'the_'))}{name}{self.pick(('', self.digits(2)))}@{self.pick(words.DOMAINS)}"

    def _ssn(self) -> str:
        return f"{self.number(900, 999)}-{self.digits(2)}-{self.digits(4)}"

    def _ssn_plain(self) -> str:
        return f"9{self.digits(8)}"

    def _record(self) -> str:
        return self.pick(
            (
                self.digits(6),
                self.digits(7),
                self.digits(8),
                f"{self.letters(1)}{self.digits(7)}",
                f"{self.digits(3)}-{self.digits(2)}-{self.digits(2)}",
            )
        )

    def _plan(self) -> str:
        return self.pick(
            (
                f"{self.letters(3)}{self.digits(9)}",
                f"{self.letters(2)}-{self.digits(4)}-{self.digits(2)}",
                self.digits(10),
            )
        )

    def _group(self) -> str:
        return self.digits(5)

    def _medicare(self) -> str:
        return f"{self.number(1, 9)}EG{self.number(0, 9)}-TE{self.number(0, 9)}-MK{self.digits(2)}"

    def _account(self) -> str:
        return self.pick((self.digits(8), self.digits(10), f"{self.digits(4)}-{self.digits(6)}"))

    def _card(self) -> str:
        body = "4" + self.digits(14)
        total = sum(
            sum(divmod(2 * int(sign), 10)) if place % 2 == 0 else int(sign)
            for place, sign in enumerate(body)
        )
        number = f"{body}{-total % 10}"
        return self.pick((number, " ".join(number[place : place + 4] for place in range(0, 16, 4))))

    def _iban(self) -> str:
        body = self.digits(18)
        return f"DE{98 - int(body + '131400') % 97:02d}{body}"

    def _license(self) -> str:
        return self.pick(
            (
                f"{self.letters(2)}{self.digits(6)}",
                self.digits(7),
                f"{self.letters(1)}-{self.digits(6)}",
            )
        )

    def _dea(self) -> str:
        return f"B{self.letters(1)}{self.digits(7)}"

    def _npi(self) -> str:
        return f"1{self.digits(9)}"

    def _vin(self) -> str:
        return f"1HGCM8263{self.letters(2)}{self.digits(6)}"

    def _plate(self) -> str:
        return self.pick(
            (
                f"{self.letters(3)}-{self.digits(4)}",
                f"{self.digits(3)} {self.letters(3)}",
                f"{self.digits(1)}{self.letters(3)}{self.digits(3)}",
            )
        )

    def _serial(self) -> str:
        return self.pick(
            (
                f"{self.letters(3)}{self.digits(6)}",
                f"SN-{self.digits(5)}-{self.letters(1)}",
                self.digits(9),
            )
        )

    def _imei(self) -> str:
        return f"35{self.digits(13)}"

    def _mac(self) -> str:
        return ":".join(f"{self.number(16, 255):02X}" for _ in range(6))

    def _url(self) -> str:
        return f"{self.pick(('https://', 'http://', 'www.'))}portal.example.org/{self.pick(('p', 'chart', 'view?id='))}{self.digits(4)}"

    def _ip4(self) -> str:
        return f"192.0.2.{self.number(1, 254)}"

    def _ip6(self) -> str:
        return f"2001:db8::{self.number(16, 4096):x}:{self.number(1, 9)}"

    def _photo(self) -> str:
        return f"{self.pick(('face', 'IMG', 'portrait'))}_{self.digits(4)}.{self.pick(('jpg', 'png', 'JPEG'))}"

    def _biometric(self) -> str:
        return self.pick((f"FP-{self.digits(6)}", f"{self.letters(2)}{self.digits(8)}"))

    def _accession(self) -> str:
        return self.pick((f"S{self.digits(2)}-{self.digits(5)}", f"ACC{self.digits(7)}"))

    def _order(self) -> str:
        return self.digits(7)

    def _passport(self) -> str:
        return f"C{self.digits(8)}"

    def _street(self) -> str:
        return (
            f"{self.number(1, 9999)} {self.pick(words.STREETS).replace('_', ' ')} {self.pick(words.SUFFIXES)}"
            f"{self.pick(('', '', f', Apt {self.number(1, 40)}', f' #{self.number(1, 9)}B'))}"
        )

    def _box(self) -> str:
        return f"{self.pick(('PO Box', 'P.O. Box'))} {self.number(10, 9999)}"

    def _town(self) -> str:
        return self.pick(words.TOWNS_KNOWN if self.chance(0.4) else words.TOWNS_RARE)

    def _zip(self) -> str:
        return self.pick(
            (
                f"0{self.digits(4)}",
                f"{self.number(10000, 99999)}",
                f"{self.number(10000, 99999)}-{self.digits(4)}",
            )
        )

    def _hospital(self) -> str:
        return self.pick(words.HOSPITALS)


def make_notes(count: int = NOTES, seed: int = SEED) -> list[Note]:
    """Return `count` notes; every second one has fresh sentences."""
    writer = Writer(seed)
    return [writer.note(fresh=number % 2 == 1) for number in range(count)]


def main() -> None:
    """Write the notes to the file named, or to standard output."""
    lines = "".join(json.dumps(vars(note), ensure_ascii=False) + "\n" for note in make_notes())
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(lines, encoding="utf-8")
    else:
        sys.stdout.write(lines)


if __name__ == "__main__":
    main()
