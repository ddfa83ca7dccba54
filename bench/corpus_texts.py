"""The fourth set of texts with labelled identifiers: four public corpora by other hands, read where they are cloned.

| language | corpus | what it is |
|---|---|---|
| English | microsoft/presidio-research, `data/synth_dataset_v2.json` | 1,500 sentences of templates, filled with names and addresses of many countries |
| German | calgo-lab/redakt-grascco, GraSCCo_PHI | 63 clinical documents, written anew by physicians |
| French | aphp/eds-pseudo, `data/templates.txt` | 233 pieces of hospital documents with invented identifiers |
| Spanish | PlanTL-GOB-ES/SPACCC_MEDDOCAN, test part | 250 clinical cases with inserted identifiers |

None of them is part of the repository: `build/bench/corpora/NAME` must be a clone (a bare one will do). Their labels are mapped
to the classes of `bench.text_recall`; what Safe Harbor lets stay, or what they label otherwise than we do (countries, hospitals,
professions, ages, bare years), may be found or not.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.labelled_texts import LabelledText
from bench.people import FOLDER
from discreet.measure.text import lexicon
from discreet.measure.text.person_names import fold_accents

if TYPE_CHECKING:
    from collections.abc import Iterator

CORPORA = FOLDER / "corpora"
EITHER = "either"
_CLASSES = {
    "name": "PERSON NAME_PATIENT NAME_DOCTOR NAME_RELATIVE NAME_EXT NAME_OTHER NOMBRE_SUJETO_ASISTENCIA NOMBRE_PERSONAL_SANITARIO "
    "NOM PRENOM",
    "place": "STREET_ADDRESS GPE ZIP_CODE LOCATION_STREET LOCATION_CITY LOCATION_ZIP CALLE TERRITORIO VILLE ADRESSE ADDRESSE ZIP",
    "phone": "PHONE_NUMBER CONTACT_PHONE CONTACT_FAX NUMERO_TELEFONO NUMERO_FAX TEL",
    "email": "EMAIL_ADDRESS CONTACT_EMAIL CORREO_ELECTRONICO MAIL",
    "date": "DATE_TIME DATE FECHAS DATE_NAISSANCE",
    "id": "CREDIT_CARD US_SSN US_DRIVER_LICENSE IBAN_CODE IP_ADDRESS ID NAME_USERNAME IPP NDA SECU ID_SUJETO_ASISTENCIA "
    "ID_TITULACION_PERSONAL_SANITARIO ID_CONTACTO_ASISTENCIAL ID_ASEGURAMIENTO ID_EMPLEO_PERSONAL_SANITARIO",
}
CLASS_OF = {label: name for name, labels in _CLASSES.items() for label in labels.split()}
_MARK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?P<label>[A-Z_]+)\)")
_DAY = re.compile(r"\d\D+\d|\d\D*[^\W\d_]{3}|[^\W\d_]{3}\D*\d{1,2}(?!\d)")


@dataclass(frozen=True)
class Corpus:
    """A repository with labelled texts."""

    language: str
    repository: str

    def read(self, path: str) -> str:
        """Return a file of its newest commit."""
        return self._git("show", f"HEAD:{path}")

    def list(self, folder: str) -> list[str]:
        """Return the files of a folder."""
        listed = self._git("ls-tree", "-r", "--name-only", "-z", "HEAD", f"{folder}/")
        return [path for path in listed.split("\0") if path]

    def _git(self, *command: str) -> str:
        folder = CORPORA / self.repository.partition("/")[2]
        if not folder.exists():
            raise FileNotFoundError(
                f"{folder} is missing. Clone {self.repository} of GitHub there."
            )
        done = subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True)
        return done.stdout.decode("utf-8")


def read_corpora() -> Iterator[LabelledText]:
    """Yield the texts of all four corpora with their labels."""
    yield from _read_presidio(Corpus("en", "microsoft/presidio-research"))
    yield from _read_grascco(Corpus("de", "calgo-lab/redakt-grascco"))
    yield from _read_pseudo(Corpus("fr", "aphp/eds-pseudo"))
    yield from _read_meddocan(Corpus("es", "PlanTL-GOB-ES/SPACCC_MEDDOCAN"))


def _read_presidio(corpus: Corpus) -> Iterator[LabelledText]:
    for one in json.loads(corpus.read("data/synth_dataset_v2.json")):
        spans = [(s["start_position"], s["end_position"], s["entity_type"]) for s in one["spans"]]
        yield _label_text(corpus, "templates", one["full_text"], spans)


def _read_grascco(corpus: Corpus) -> Iterator[LabelledText]:
    for path in corpus.list("data/raw/11502329/grascco_phi_annotation_json"):
        features = json.loads(corpus.read(path))["%FEATURE_STRUCTURES"]
        text = next(f["sofaString"] for f in features if f["%TYPE"] == "uima.cas.Sofa")
        spans = [
            (f["begin"], f["end"], f.get("kind", "AGE"))
            for f in features
            if f["%TYPE"] == "webanno.custom.PHI"
        ]
        yield _label_text(corpus, "clinical documents", text, spans)


def _read_pseudo(corpus: Corpus) -> Iterator[LabelledText]:
    for marked in corpus.read("data/templates.txt").split("\n\n"):
        text, spans, done = "", [], 0
        for mark in _MARK.finditer(marked):
            text += marked[done : mark.start()]
            spans.append((len(text), len(text) + len(mark["text"]), mark["label"]))
            text, done = text + mark["text"], mark.end()
        yield _label_text(corpus, "hospital documents", text + marked[done:], spans)


def _read_meddocan(corpus: Corpus) -> Iterator[LabelledText]:
    for path in corpus.list("corpus/test/brat"):
        if not path.endswith(".ann"):
            continue
        text = corpus.read(path.removesuffix(".ann") + ".txt")
        fields = [
            line.split("\t")[1].split() for line in corpus.read(path).splitlines() if line[0] == "T"
        ]
        spans = [(int(start), int(end), label) for label, start, end in fields]
        yield _label_text(corpus, "clinical cases", text, spans)


def _label_text(
    corpus: Corpus, genre: str, text: str, spans: list[tuple[int, int, str]]
) -> LabelledText:
    named = tuple(
        (start, end, _class_of(text[start:end], label)) for start, end, label in sorted(spans)
    )
    return LabelledText(corpus.language, genre, text, named, True)


def _class_of(written: str, label: str) -> str:
    """Return the class of a label; what may stay in a text may be found or not."""
    name = CLASS_OF.get(label, EITHER)
    is_country = name == "place" and lexicon.is_country(fold_accents(written))
    is_code = name == "place" and len(written) < 4 and written.isupper()  # `SK`, `CO`
    is_year = name == "date" and not _DAY.search(written)
    return EITHER if is_country or is_code or is_year else name
