"""Write the synthetic hospital that `discreet demo` ships: `python scripts/make_hospital.py [FOLDER]`.

Everything is invented: no row was copied or learned from a real person. Names are drawn from lists
of common names (`hospital_words.py`), places do not exist, e-mail domains and telephone numbers are
reserved for examples, and the national number is a scheme of our own: eleven digits whose last two
are ISO 7064 MOD 97-10 check digits (the whole number leaves the remainder 1 when divided by 97).

The same script writes the same bytes on every machine: chance comes only from `Random.random()`,
the one method whose sequence Python promises to keep, sums are sums of integers (Python 3.12 changed
how it adds fractions), and no function of the C library that may round differently is used.
"""

from __future__ import annotations

import csv
import sys
import unicodedata
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, TypeVar

import hospital_words as words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hospital_words import Culture, Illness

Value = TypeVar("Value")

SEED = 20260101
TODAY = date(2025, 12, 31)
FIRST_VISIT = date(2021, 1, 1)
POPULATION, PATIENTS, DOCTORS = 5200, 2000, 40
COLUMNS = {
    "patients": (
        *("patient_id", "name", "national_id", "email", "phone", "address"),
        *("birth_date", "sex", "postcode", "occupation", "salary", "insurance", "diagnosis"),
    ),
    "visits": ("visit_id", "patient_id", "admitted", "ward", "diagnosis", "cost", "doctor_id"),
    "doctors": ("doctor_id", "name", "ward"),
    "voters": ("name", "birth_date", "sex", "postcode", "address"),
    "diagnoses": ("code", "title"),
}
HOME = Path(__file__).resolve().parent.parent / "src" / "discreet" / "data" / "hospital"


class Chance:
    """Draws made of `Random.random()` alone, so that they never change with Python's version."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed).random

    def happens(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random() < probability

    def below(self, stop: int) -> int:
        """Return one of 0, 1, …, `stop` - 1."""
        return int(self._random() * stop)

    def between(self, low: int, high: int) -> int:
        """Return one of `low`, …, `high`."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[Value]) -> Value:
        """Return one item, each as likely as any other."""
        return items[self.below(len(items))]

    def weighted(self, items: Sequence[Value], weight: Callable[[Value], int]) -> Value:
        """Return one item, as likely as its weight says."""
        weights = [weight(item) for item in items]
        mark = self._random() * sum(weights)
        for item, share in zip(items, weights, strict=True):
            mark -= share
            if mark < 0:
                return item
        return items[-1]

    def bell(self) -> float:
        """Return a number near the standard normal: twelve uniform draws, centered."""
        return sum(int(self._random() * 2**53) for _ in range(12)) / 2**53 - 6

    def shuffled(self, items: Iterable[Value]) -> list[Value]:
        """Return the items in a random order."""
        return [item for _, _, item in sorted((self._random(), i, x) for i, x in enumerate(items))]


@dataclass(frozen=True)
class Person:
    """One inhabitant of the region, patient or not."""

    name: str
    birth: date
    sex: str
    postcode: str
    address: str
    occupation: str
    salary: int

    @property
    def age(self) -> int:
        """Whole years on the day the tables were written."""
        before_birthday = (TODAY.month, TODAY.day) < (self.birth.month, self.birth.day)
        return TODAY.year - self.birth.year - before_birthday


class Region:
    """Households with shared family names and addresses; no two people share their full name."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.people: list[Person] = []
        self._names: set[str] = set()
        first, count, weight = words.CITY
        places = [(first, 5 * weight), *((first + n, weight) for n in range(1, count))]
        for first, count, weight in (*words.TOWNS, words.VILLAGES):
            places += [(first + n, weight) for n in range(count)]
        self._places = [(f"{number:05d}", weight) for number, weight in places]

    def fill(self) -> list[Person]:
        """Return everybody; the rare people come last."""
        while len(self.people) < POPULATION:
            self._household()
        self._rare_people()
        return self.people

    def _household(self) -> None:
        chance = self.chance
        culture = chance.weighted(words.CULTURES, lambda item: item.weight)
        family = chance.pick(culture.families)
        postcode = chance.weighted(self._places, lambda place: place[1])[0]
        address = f"{chance.between(1, 140)} {chance.pick(words.STREETS)}"
        if postcode.startswith("0") and chance.happens(0.3):
            address += f", flat {chance.between(1, 24)}"
        while not 20 <= (eldest := int(47 + 19 * chance.bell())) <= 93:
            continue
        ages = [eldest]
        if chance.happens(0.6):
            ages.append(max(19, eldest + chance.between(-6, 3)))
        if len(ages) == 2 and 24 <= eldest <= 58:
            oldest_child = min(24, eldest - 20)
            ages += [chance.between(0, oldest_child) for _ in range(chance.between(0, 3))]
        woman = False
        for position, age in enumerate(ages):
            # The second person is a partner, mostly of the other sex.
            woman = woman != chance.happens(0.95) if position == 1 else chance.happens(0.5)
            self._add(culture, family, postcode, address, age=age, woman=woman)
            if position >= 2 and chance.happens(0.06):
                twin = self._name(culture, family, woman=woman)
                self.people.append(replace(self.people[-1], name=twin))

    def _add(
        self, culture: Culture, family: str, postcode: str, address: str, *, age: int, woman: bool
    ) -> None:
        name = self._name(culture, family, woman=woman)
        # 365 days a year at most, so that nobody is a year older than meant.
        birth = TODAY.replace(year=TODAY.year - age) - timedelta(days=self.chance.below(365))
        sex = "F" if woman else "M"
        if age >= 16 and self.chance.happens(0.004):
            sex = "NB"
        occupation, salary = self._work(age, woman=woman)
        self.people.append(Person(name, birth, sex, postcode, address, occupation, salary))

    def _name(self, culture: Culture, family: str, *, woman: bool) -> str:
        chance = self.chance
        given = culture.women if woman else culture.men
        middle = ""
        while True:
            parts = [chance.pick(given) + middle, family]
            name = " ".join(reversed(parts) if culture.family_first else parts)
            if name not in self._names:
                self._names.add(name)
                return name
            # Names run out in small lists: then people have a second given name.
            middle = f" {chance.pick(given)}"

    def _work(self, age: int, *, woman: bool) -> tuple[str, int]:
        chance = self.chance
        if age < 18:
            return ("pupil" if age >= 6 else "child"), 0
        if age < 24 and chance.happens(0.55):
            return "student", 100 * chance.between(60, 140)
        job = chance.weighted(
            words.JOBS, lambda item: item.weight * (item.women if woman else 100 - item.women)
        )
        grown = 0.75 + 0.008 * min(age - 18, 40)
        pay = job.salary * grown * max(0.6, 1 + 0.13 * chance.bell())
        if age >= 66 or (age >= 61 and chance.happens(0.4)):
            return "retired", 100 * int(0.5 * pay / 100)
        return job.title, 100 * int(pay / 100)

    def _rare_people(self) -> None:
        english = words.CULTURES[0]
        village = words.SURGEON_VILLAGE
        self._add(english, "Winterbourne", "01004", "3 Chapel Lane", age=97, woman=True)
        # Whoever else drew this job here works as a judge, so that the surgeon is the only one.
        self.people = [
            replace(person, occupation="judge")
            if person.occupation == "surgeon" and person.postcode == village
            else person
            for person in self.people
        ]
        self._add(english, "Ravenscroft", village, "1 Quarry Hill", age=44, woman=True)
        self.people[-1] = replace(self.people[-1], occupation="surgeon", salary=164000)
        for number in range(7):
            address = f"{2 * number + 2} Quarry Hill"
            family = english.families[5 * number]
            age = 66 + number
            self._add(english, family, words.MINING_VILLAGE, address, age=age, woman=False)
            self.people[-1] = replace(self.people[-1], occupation="retired", salary=19000)


def national_number(chance: Chance) -> str:
    """Return eleven digits of which the last two are ISO 7064 MOD 97-10 check digits."""
    body = chance.between(100_000_000, 999_999_999)
    return f"{body}{98 - body * 100 % 97:02d}"


def mailbox(name: str, number: int, chance: Chance) -> str:
    """Return an address made of the name's Latin letters, or of a number when it has none."""
    plain = name.translate(str.maketrans("łŁıđĐ", "lLidD"))
    decomposed = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    letters = "".join(letter for letter in decomposed.lower() if letter.isalpha() or letter == " ")
    local = ".".join(letters.split()) or f"user{number}"
    return f"{local}@{chance.pick(words.DOMAINS)}"


def main_illness(person: Person, chance: Chance) -> Illness:
    """Return what the person mainly suffers from, by age, sex and, for old miners, by place."""
    band = 0 if person.age < 18 else 1 if person.age < 65 else 2
    if person.postcode == words.MINING_VILLAGE and person.sex == "M" and band == 2:
        return next(illness for illness in words.ILLNESSES if illness.code == "J60")
    births = 18 <= person.age < 46

    def weight(illness: Illness) -> int:
        if illness.sex not in {"", person.sex} or (illness.ward == "maternity" and not births):
            return 0
        return illness.weights[band]

    return chance.weighted(words.ILLNESSES, weight)


def choose_patients(people: Sequence[Person], chance: Chance) -> list[Person]:
    """Return who has been in hospital: the old more often, and the rare people always."""
    must = people[-9:]
    draws = [(chance.bell() - person.age / 40, number) for number, person in enumerate(people[:-9])]
    chosen = [people[number] for _, number in sorted(draws)[: PATIENTS - len(must)]]
    return chance.shuffled([*chosen, *must])


def patient_rows(
    patients: Sequence[Person], illnesses: Sequence[Illness], chance: Chance
) -> Iterable[list[object]]:
    """Yield the patients, with gaps where a real register has gaps."""
    numbers: set[str] = set()
    for position, (person, illness) in enumerate(zip(patients, illnesses, strict=True), start=1):
        while (number := national_number(chance)) in numbers:
            continue
        numbers.add(number)
        email = mailbox(person.name, position, chance)
        phone = f"{chance.pick(words.PHONE_BLOCKS)}{chance.below(1000):03d}"
        rich = person.salary > 60000
        insurance = "private" if chance.happens(0.6 if rich else 0.07) else "public"
        if person.occupation == "unemployed" and chance.happens(0.3):
            insurance = "none"
        yield [
            f"P{position:05d}",
            person.name,
            number,
            "" if person.age < 14 or chance.happens(0.2) else email,
            "" if chance.happens(0.12) else phone,
            person.address,
            person.birth.isoformat(),
            person.sex,
            person.postcode,
            "" if chance.happens(0.02) else person.occupation,
            "" if chance.happens(0.04) else person.salary,
            "" if chance.happens(0.03) else insurance,
            illness.code,
        ]


def doctor_rows(chance: Chance) -> list[list[str]]:
    """Return the doctors: at least three for each ward."""
    wards = sorted({illness.ward for illness in words.ILLNESSES})
    names: list[str] = []
    while len(names) < DOCTORS:
        culture = chance.weighted(words.CULTURES[:6], lambda item: item.weight)
        given = chance.pick(culture.women if chance.happens(0.5) else culture.men)
        parts = [given, chance.pick(culture.families)]
        name = " ".join(reversed(parts) if culture.family_first else parts)
        if name not in names:
            names.append(name)
    return [
        [f"D{number:03d}", f"Dr. {name}", wards[number % len(wards)]]
        for number, name in enumerate(names, start=1)
    ]


def visit_rows(
    patients: Sequence[Person],
    illnesses: Sequence[Illness],
    doctors: Sequence[Sequence[str]],
    chance: Chance,
) -> list[list[object]]:
    """Return the visits by day: mostly for the main illness, a few patients very often."""
    visits: list[tuple[date, str, Illness]] = []
    for position, (person, main) in enumerate(zip(patients, illnesses, strict=True), start=1):
        count = 1
        while count < 24 and chance.happens(0.56 + 0.0025 * person.age):
            count += 1
        first = max(FIRST_VISIT, person.birth)
        for _ in range(count):
            day = first + timedelta(days=chance.below((TODAY - first).days + 1))
            illness = main if chance.happens(0.75) else main_illness(person, chance)
            visits.append((day, f"P{position:05d}", illness))
    rows: list[list[object]] = []
    for number, (day, patient, illness) in enumerate(
        sorted(visits, key=lambda visit: (visit[0], visit[1], visit[2].code)), start=1
    ):
        staff = [doctor[0] for doctor in doctors if doctor[2] == illness.ward]
        cents = int(100 * illness.cost * max(0.3, 1 + 0.35 * chance.bell()))
        cost = "" if chance.happens(0.01) else f"{cents // 100}.{cents % 100:02d}"
        visit = [f"V{number:06d}", patient, day.isoformat(), illness.ward, illness.code, cost]
        rows.append([*visit, chance.pick(staff)])
    return rows


def voter_rows(
    people: Sequence[Person], patients: Sequence[Person], chance: Chance
) -> list[list[str]]:
    """Return the public voter list: adults, seven in ten patients, some with an old address.

    A name belongs to one person only, so the list tells the truth about who is who.
    """
    known = {person.name for person in patients}
    places = sorted({person.postcode for person in people})
    rows: list[list[str]] = []
    for person in people:
        registered = 0.765 if person.name in known else 0.8
        if person.age < 18 or not chance.happens(registered):
            continue
        postcode, address = person.postcode, person.address
        if chance.happens(0.04):
            postcode = chance.pick(places)
            address = f"{chance.between(1, 140)} {chance.pick(words.STREETS)}"
        rows.append([person.name, person.birth.isoformat(), person.sex, postcode, address])
    return sorted(rows)


def write(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[object]], *, delimiter: str = ","
) -> None:
    """Write one table; an empty `header` writes none, as ARX's hierarchy files have none."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        if header:
            writer.writerow(header)
        writer.writerows(rows)


def make(folder: Path) -> None:
    """Write every table of the hospital into `folder`."""
    chance = Chance(SEED)
    people = Region(chance).fill()
    patients = choose_patients(people, chance)
    illnesses = [main_illness(person, chance) for person in patients]
    doctors = doctor_rows(chance)
    folder.mkdir(parents=True, exist_ok=True)
    write(
        folder / "patients.csv",
        COLUMNS["patients"],
        patient_rows(patients, illnesses, chance),
    )
    write(
        folder / "visits.csv",
        COLUMNS["visits"],
        visit_rows(patients, illnesses, doctors, chance),
    )
    write(folder / "doctors.csv", COLUMNS["doctors"], doctors)
    write(
        folder / "voters.csv",
        COLUMNS["voters"],
        voter_rows(people, patients, chance),
    )
    by_code = sorted(words.ILLNESSES, key=lambda illness: illness.code)
    write(folder / "diagnoses.csv", COLUMNS["diagnoses"], [[i.code, i.title] for i in by_code])
    write(
        folder / "diagnoses_hierarchy.csv",
        [],
        [[illness.code, illness.block, illness.chapter, "*"] for illness in by_code],
        delimiter=";",
    )


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else HOME)
