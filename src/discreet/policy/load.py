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
from discreet.policy.write import dump_policy
from discreet.writing import require_writable_path, write_atomically


def load_policy(path: Path | str) -> Policy:
    """Return the policy in the file `path`.

    Raises:
        SourceNotFound: There is no such file.
        InvalidPolicy: The file has faults; every one of them is listed, with its line.

    >>> load_policy("policy.yaml").tables["patients"].unit
    'patient_id'
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
    check_tables(tables, folder=folder, faults=faults)
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


def validate_policy(policy: Policy) -> Policy:
    """Return a policy that was made in Python as its file would be read, checked as files are.

    Raises:
        InvalidPolicy: It has faults; every one is listed, with its line in `dump_policy(policy)`.

    >>> from discreet.policy.model import ColumnPolicy, ColumnRole, LDiversity, TablePolicy
    >>> columns = (ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),)
    >>> table = TablePolicy("people", columns, criteria=(LDiversity("ill", 2),))
    >>> validate_policy(Policy({"people": table}))
    Traceback (most recent call last):
    discreet.errors.InvalidPolicy: policy:6: criterion 'l-diversity': column 'ill' is not listed...
    """
    return parse_policy(dump_policy(policy), path=policy.path)


def save_policy(policy: Policy, path: Path | str, *, force: bool = False) -> Policy:
    """Write a valid policy to a file, and return it as `load_policy` reads it.

    Args:
        policy: The policy.
        path: Where it goes, such as `policy.yaml`; paths in it are relative to that file.
        force: Replace what is there.

    Raises:
        InvalidPolicy: It has faults; nothing is written.
        OutputRefused: There is a file already, or it cannot be written.

    >>> from discreet.policy.model import ColumnPolicy, ColumnRole, KAnonymity, TablePolicy
    >>> columns = (ColumnPolicy("age", ColumnRole.QUASI_IDENTIFIER),)
    >>> made = Policy({"people": TablePolicy("people", columns, criteria=(KAnonymity(5),))})
    >>> save_policy(made, "people.yaml") == made
    True
    """
    place = Path(path)
    require_writable_path(place, may_exist=force)
    text = dump_policy(policy)
    found = parse_policy(text, path=place)
    write_atomically(place, text)
    return found
