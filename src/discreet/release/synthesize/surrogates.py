"""Fresh values for what is never synthesized: keys, names, addresses, free text.

Nothing here has seen the source. What a surrogate looks like follows from the column's name and kind,
which are schema; words come from the public lists of `data/text`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.arrow import ArrowArray
from discreet.engines.engine import Column, Kind
from discreet.measure.profile.concepts.concept import FREE_TEXT
from discreet.measure.profile.vocabulary import recognize_concept, split_words

Form = Literal[
    "key", "name", "given name", "family name", "e-mail", "phone", "address", "text", "moment"
]
FORMS: tuple[Form, ...] = get_args(Form)
# What stands in every cell of a column of free text.
PLACEHOLDER = "(synthetic: no text)"
# Domains that no mail reaches (RFC 2606), and numbers that are kept for fiction (555-0100 to 555-0199).
_MAIL_DOMAINS = ("example.com", "example.org", "example.net")
_CONCEPTS: Mapping[str, Form] = {
    "person name": "name",
    "e-mail address": "e-mail",
    "phone number": "phone",
    "fax number": "phone",
    "street address": "address",
    FREE_TEXT: "text",
}
_GIVEN = frozenset(
    [
        "first",
        "given",
        "forename",
        "vorname",
        "prenom",
        "imie",
        "voornaam",
        "middle",
        "fname",
        "rufname",
    ]
)
_FAMILY = frozenset(
    [
        "last",
        "family",
        "surname",
        "nachname",
        "familienname",
        "apellido",
        "apellidos",
        "nazwisko",
        "cognome",
        "achternaam",
        "lname",
        "zuname",
    ]
)
# Everything of a person is the same in all rows of a unit; other keys differ from row to row.
_OF_A_PERSON = ("name", "given name", "family name", "e-mail", "phone", "address")
_STREETS = (
    *("Oak", "Maple", "Cedar", "Elm", "Pine", "Birch", "Willow", "Lake", "Hill", "River", "Park"),
    *("Meadow", "Garden", "Mill", "Church", "School", "Station", "Market", "Spring", "Forest"),
)
_STREET_KINDS = ("Street", "Road", "Lane", "Avenue", "Way")


@dataclass(frozen=True)
class SurrogateColumn:
    """A column of the source whose cells are made up.

    Attributes:
        name: The column.
        form: What its cells look like.
        kind: What its values are.
        is_unit: Whether it says which rows are one unit's.
        references: Table and column that a foreign key points to.
    """

    name: str
    form: Form
    kind: Kind
    is_unit: bool = False
    references: tuple[str, str] | None = None

    @property
    def is_of_unit(self) -> bool:
        """Whether all rows of a unit share its value."""
        return self.is_unit or self.form in _OF_A_PERSON

    def to_content(self) -> dict[str, Any]:
        """Return all of it in plain values."""
        unit = {"unit": True} if self.is_unit else {}
        references = {"references": list(self.references)} if self.references else {}
        return {"name": self.name, "form": self.form, "kind": self.kind.value, **unit, **references}

    @staticmethod
    def from_content(content: Mapping[str, Any]) -> SurrogateColumn:
        """Return what `to_content` wrote; raises `ValueError` for anything else."""
        if content["form"] not in FORMS:
            raise ValueError("there is no such form of surrogates")
        references = content.get("references")
        return SurrogateColumn(
            str(content["name"]),
            content["form"],
            Kind(content["kind"]),
            bool(content.get("unit", False)),
            None if references is None else (str(references[0]), str(references[1])),
        )


def choose_surrogate(
    column: Column, *, is_unit: bool = False, references: tuple[str, str] | None = None
) -> SurrogateColumn:
    """Return the surrogates that the name and the kind of a column ask for.

    >>> choose_surrogate(Column("e_mail", Kind.TEXT)).form
    'e-mail'
    """
    return SurrogateColumn(
        column.name,
        "key" if is_unit or references else _choose_form(column),
        column.kind,
        is_unit,
        references,
    )


def is_free_text(column: Column) -> bool:
    """Whether a column holds free text, by its name: notes, comments, descriptions."""
    concept = recognize_concept(column.name) if column.kind is Kind.TEXT else None
    return concept is not None and concept.name == FREE_TEXT


def _choose_form(column: Column) -> Form:
    if column.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIME):
        return "moment"
    if column.kind is not Kind.TEXT:
        return "key"
    concept = recognize_concept(column.name)
    form = _CONCEPTS.get(concept.name, "key") if concept else "key"
    if form != "name":
        return form
    words = set(split_words(column.name))
    return "given name" if words & _GIVEN else "family name" if words & _FAMILY else "name"


def make_surrogates(
    columns: Sequence[SurrogateColumn],
    count: int,
    chance: Generator,
    *,
    units: NDArray[np.integer[Any]] | None = None,
    keys: Mapping[str, NDArray[np.integer[Any]]] | None = None,
) -> dict[str, ArrowArray]:
    """Return `count` cells of each column.

    E-mail addresses fit the names beside them. Keys are drawn without repetition.

    Args:
        columns: The columns.
        count: How many rows.
        chance: Where randomness comes from.
        units: The number of the unit of each row, from 0; without it each row is a unit.
        keys: For columns that are foreign keys, the number of the key that each row points to.
    """
    rows = np.arange(count)
    of_unit = rows if units is None else np.asarray(units)
    people = _draw_people(int(of_unit.max()) + 1 if count else 0, chance)
    made: dict[str, ArrowArray] = {}
    for one in columns:
        places = of_unit if one.is_of_unit else rows
        places = np.asarray((keys or {}).get(one.name, places))
        made[one.name] = _make_column(one, places, people, chance)
    return made


@dataclass(frozen=True)
class _People:
    given: NDArray[np.str_]
    family: NDArray[np.str_]
    numbers: NDArray[np.int64]


def _draw_people(count: int, chance: Generator) -> _People:
    given, family = (_read_names(name) for name in ("given", "family"))
    return _People(
        chance.choice(given, count), chance.choice(family, count), chance.permutation(count)
    )


@cache
def _read_names(name: str) -> NDArray[np.str_]:
    text = (files("discreet") / "data" / "text" / f"{name}.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return np.array(sorted({word.capitalize() for line in lines for word in line.split()}))


def _make_column(
    column: SurrogateColumn, places: NDArray[np.integer[Any]], people: _People, chance: Generator
) -> ArrowArray:
    if column.form == "key":
        return _make_keys(column, places, chance)
    if column.form == "moment":
        return pa.nulls(len(places), _MOMENTS[column.kind])
    if column.form == "text":
        return pa.array([PLACEHOLDER] * len(places), pa.string())
    cells = _TEXTS[column.form](people, chance)
    return pa.array(cells.astype(object), pa.string()).take(pa.array(places))


def _make_keys(
    column: SurrogateColumn, places: NDArray[np.integer[Any]], chance: Generator
) -> ArrowArray:
    """Return a key for each place, the same for the same place."""
    if column.kind is Kind.BOOLEAN:
        return pa.nulls(len(places), pa.bool_())
    # A foreign key is numbered as the key that it points to.
    number = int(places.max()) + 1 if len(places) else 0
    is_linked = column.is_unit or column.references is not None
    order = np.arange(number) if is_linked else chance.permutation(number)
    numbers = order[places] + 1
    if column.kind.is_number:
        kind = {Kind.REAL: pa.float64(), Kind.DECIMAL: pa.decimal128(38, 0)}.get(
            column.kind, pa.int64()
        )
        return pa.array(numbers, pa.int64()).cast(kind)
    return pa.array([f"S{one:08d}" for one in numbers.tolist()], pa.string())


def _full_names(people: _People, chance: Generator) -> NDArray[np.str_]:  # noqa: ARG001 -- one shape for all
    return np.char.add(np.char.add(people.given, " "), people.family)


def _mail_addresses(people: _People, chance: Generator) -> NDArray[np.str_]:
    names = np.char.add(np.char.add(np.char.lower(people.given), "."), np.char.lower(people.family))
    # A number of its own makes each address another one.
    numbered = np.char.add(names, (people.numbers + 1).astype(str))
    return np.char.add(np.char.add(numbered, "@"), chance.choice(_MAIL_DOMAINS, len(names)))


def _phone_numbers(people: _People, chance: Generator) -> NDArray[np.str_]:
    count = len(people.numbers)
    areas, lines = chance.integers(201, 990, count), chance.integers(100, 200, count)
    return np.array(
        [
            f"+1-{area}-555-0{line}"
            for area, line in zip(areas.tolist(), lines.tolist(), strict=True)
        ],
        str,
    )


def _street_addresses(people: _People, chance: Generator) -> NDArray[np.str_]:
    count = len(people.numbers)
    numbers = chance.integers(1, 400, count).astype(str)
    streets = np.char.add(
        np.char.add(chance.choice(_STREETS, count), " "), chance.choice(_STREET_KINDS, count)
    )
    return np.char.add(np.char.add(numbers, " "), streets)


_TEXTS: Mapping[str, Callable[[_People, Generator], NDArray[np.str_]]] = {
    "name": _full_names,
    "given name": lambda people, _: people.given,
    "family name": lambda people, _: people.family,
    "e-mail": _mail_addresses,
    "phone": _phone_numbers,
    "address": _street_addresses,
}
_MOMENTS = {Kind.DATE: pa.date32(), Kind.TIMESTAMP: pa.timestamp("us"), Kind.TIME: pa.time64("us")}
