"""Loads a policy file: frozen values, or all of its faults at once."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import InvalidPolicy, SourceNotFound, did_you_mean
from discreet.policy.build import build_policy
from discreet.policy.check import build_hierarchies, check_tables, read_partial_tables
from discreet.policy.document import Document, InvalidYaml, Place, read_document
from discreet.policy.faults import Faults
from discreet.policy.model import Policy
from discreet.policy.schema import WrittenPolicy, read_as


def load_policy(path: Path | str) -> Policy:
    """Return the policy in the file `path`.

    Raises:
        SourceNotFound: There is no such file.
        InvalidPolicy: The file has faults; every one of them is listed, with its line.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SourceNotFound(
            f"Policy file '{path}' is not there.{_suggest_path(path)} Run `discreet init` to draft one."
        ) from None
    except IsADirectoryError:
        raise InvalidPolicy([f"{path}: a directory. Name the policy file in it."]) from None
    except OSError as error:
        raise InvalidPolicy([f"{path}: cannot be read ({error.strerror})."]) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start + 1} of the file (0x{data[error.start]:02X}) is not UTF-8"
        raise InvalidPolicy([f"{path}:{line}: {what}. Save the file as UTF-8."]) from None
    return parse_policy(text, path=path)


def _suggest_path(path: Path) -> str:
    """Return a suggestion if a policy beside it has a similar name."""
    beside = [other.name for ending in ("*.yaml", "*.yml") for other in path.parent.glob(ending)]
    guess = did_you_mean(path.name, beside)
    return guess if "Did you mean" in guess else ""


def parse_policy(text: str, *, path: Path | None = None) -> Policy:
    """Return the policy written in `text`; hierarchy files are looked for beside `path`.

    Raises:
        InvalidPolicy: The text has faults; every one of them is listed, with its line.

    >>> policy = parse_policy("tables: {people: {columns: {zip: quasi-identifier}}}")
    >>> policy.tables["people"].columns[0].role.value
    'quasi-identifier'
    """
    faults = Faults("policy" if path is None else str(path))
    document = _read(text, faults)
    written = read_as(WrittenPolicy, document.data)
    if isinstance(written, list):
        faults.add_errors(written)
    tables = read_partial_tables(document.data)
    folder = Path() if path is None else path.parent
    hierarchies = build_hierarchies(tables, folder=folder, faults=faults)
    check_tables(tables, faults=faults)
    if isinstance(written, list) or faults.found:
        raise faults.error()
    return build_policy(written, document=document, hierarchies=hierarchies, path=path)


def _read(text: str, faults: Faults) -> Document:
    """Return the document in `text`, and add its faults and repeated keys to `faults`."""
    repeated: list[tuple[int, Place]] = []
    try:
        document = read_document(text, on_repeat=lambda *repeat: repeated.append(repeat))
    except InvalidYaml as error:
        faults.add_line(error.line, error.sentence)
        raise faults.error() from None
    if document is None:
        faults.add_line(1, "the file is empty. Run `discreet init` to draft a policy.")
        raise faults.error()
    faults.document = document
    for line, place in repeated:
        sentence = f"key '{place[-1]}' is written twice. Keep one of them."
        faults.add_line(line, sentence, place=place[:-1])
    return document
