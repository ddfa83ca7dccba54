"""Text files made readable: converted to UTF-8, with invalid bytes replaced, and stray quotes kept in their line."""

from __future__ import annotations

import codecs
import mmap
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from discreet.errors import UnreadableSource

CHUNK_BYTES = 1 << 22
# What ends no line, by what the lines of a file end in.
_STRAY = {"\n": r"\r(?!\n)", "\r\n": r"\r(?!\n)|(?<!\r)\n", "\r": r"\n"}
# A byte order mark, blank lines, and the first line that ends outside quotation marks.
_HEADER = re.compile(
    rb"(?:\xef\xbb\xbf)?[\r\n]*+(?:[^\"\r\n]++|\"[^\"]*+(?:\"|\Z))*+(?:\r\n|\r|\n)?"
)

_QUOTED = re.compile(rb"\"(?:[^\"]++|\"\")*+\"")


def open_byte_stream(path: Path) -> Any:
    """Return the decompressed bytes of a file as a stream."""
    compression = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    return pa.input_stream(str(path), compression=compression)


def find_encoding(path: Path) -> str | None:
    """Return the encoding of a text file, by all of its bytes; None where they are ASCII.

    A file that is not UTF-8 has one byte for each letter. Of the code pages of Europe, the one is taken
    in which most of its other letters are letters of a language; each byte keeps a letter of its own.
    """
    head = b""
    decoder, counts = codecs.getincrementaldecoder("utf-8")(), Counter[bytes]()
    is_utf8, is_ascii = True, True
    with open_byte_stream(path) as stream:
        while chunk := bytes(stream.read(CHUNK_BYTES)):
            head = head or chunk[:1024]
            if chunk.isascii() and is_ascii:
                continue
            is_ascii = False
            try:
                decoder.decode(chunk if is_utf8 else b"")
            except UnicodeDecodeError:
                is_utf8 = False
            counts.update(_FOREIGN.findall(chunk))
    if marked := _marked_encoding(head):
        return marked
    if is_ascii:
        return None
    return "utf-8" if is_utf8 and not decoder.getstate()[0] else _find_code_page(counts)


def _marked_encoding(head: bytes) -> str | None:
    """Return the encoding of Unicode that a byte order mark shows, or every other byte being zero."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    for name, place in (("utf-16-le", 1), ("utf-16-be", 0)):
        half = head[place::2]
        if len(half) > 4 and half.count(0) > len(half) * 0.9 and 0 not in head[1 - place :: 2]:
            return name
    return None


def _find_code_page(counts: Counter[bytes]) -> str:
    """Return the code page in which the runs of foreign bytes look most like letters of a language."""
    scores = dict.fromkeys(_LETTERS, 0)
    for name in _LETTERS:
        for run, count in counts.items():
            scores[name] += count * _score_run(run, name)
    return max(scores, key=lambda name: scores[name])


def _score_run(run: bytes, name: str) -> int:
    """Return how much a run of foreign bytes, with the letters beside it, looks like a part of a word."""
    text = run.decode(name, errors="replace")
    foreign = [letter for letter in text if not letter.isascii()]
    vowels = _VOWELS.get(name)
    # Words of Greek and Cyrillic letters have no others; Latin words have few foreign letters in a row.
    if len(foreign) < len(text) if vowels else len(foreign) > 4:
        return -2 * len(foreign)
    usual = sum(1 if letter in _LETTERS[name] else -2 for letter in foreign)
    return usual + sum(letter in (vowels or "") for letter in foreign)


_FOREIGN = re.compile(rb"[A-Za-z]?[\x80-\xff]+[A-Za-z]?")
_MARKS = "€„“”…°§«»·ºª²³½\u00a0\u00b4\u2013\u2014\u2018\u2019\u201a"
_WEST = "äöüßÄÖÜàâçéèêëîïôùûœæÀÂÇÉÈÊËÎÏÔÙÛŒÆáíñóúÁÍÑÓÚ¿¡åøÅØãõÃÕìòÌÒþðýÞÐÝ"
_EAST = "ąćęłńóśźżĄĆĘŁŃÓŚŹŻáčďéěíňřšťúůýžÁČĎÉĚÍŇŘŠŤÚŮÝŽľĺŕôĽĹŔÔőűŐŰăâîșțşţĂÂÎŞŢđĐäöüßÄÖÜ"
_LETTERS = {
    "cp1252": frozenset(_WEST + _MARKS),
    "iso-8859-15": frozenset(_WEST + "€§°«»·ºª²³\u00a0"),
    "cp1250": frozenset(_EAST + _MARKS),
    "iso-8859-2": frozenset(_EAST + "§°\u00a0"),
    "cp1251": frozenset(map(chr, range(0x410, 0x450))) | {"ё", "Ё", "№"},
    "cp1253": frozenset(map(chr, range(0x386, 0x3CF))),
    "cp850": frozenset(_WEST + "§°«»·ºª²³\u00a0"),
    "mac-roman": frozenset(_WEST + _MARKS),
}
_VOWELS = {"cp1251": frozenset("аеёиоуыэюяАЕИОУЭЮЯ"), "cp1253": frozenset("αεηιουωάέήίόύώΑΕΗΙΟΥΩ")}


def as_utf8(
    path: Path, *, encoding: str, folder: Path, line_end: str = "\n", skip: int = 0
) -> Path:
    """Return a file in UTF-8 with the text of `path`: that file, or a copy in `folder`.

    The first `skip` lines are left out.

    Bytes that are not valid text become U+FFFD, and carriage returns without a line feed become
    blanks unless they end the lines, so that invalid bytes change only their own cell. Where lines
    end in both, line feeds without a carriage return become blanks as well, and where they end in
    carriage returns all line feeds.
    """
    is_plain = encoding == "utf-8" and path.suffix.lower() not in (".gz", ".zst") and not skip
    stray = _STRAY.get(line_end)
    if is_plain and _is_clean(path, stray):
        return path
    handle, name = tempfile.mkstemp(dir=folder, prefix="clean-")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    held = ""  # a carriage return at the end of a piece: the next piece decides what it is
    try:
        with (
            open_byte_stream(path) as stream,
            open(handle, "w", encoding="utf-8", newline="") as file,  # noqa: PTH123
        ):
            while chunk := stream.read(CHUNK_BYTES):
                text = held + _replace_invalid(decoder.decode(chunk))
                if skip:
                    text, skip = _drop_lines(text, skip, "\r" if line_end == "\r" else "\n")
                held = "\r" if text.endswith("\r") else ""
                file.write(_blank_strays(stray, text.removesuffix("\r")))
            file.write(
                _blank_strays(stray, held + _replace_invalid(decoder.decode(b"", final=True)))
            )
    except (OSError, pa.ArrowException):
        damaged = True
    else:
        damaged = False
    if damaged:
        raise UnreadableSource(f"{path.name} is damaged: it cannot be unpacked to its end.")
    return Path(name)


def _drop_lines(text: str, count: int, end: str) -> tuple[str, int]:
    """Return the text below its first lines, and how many of them are still to come."""
    while count and text:
        _, found, text = text.partition(end)
        count -= bool(found)
    return text, count


def _blank_strays(stray: str | None, text: str) -> str:
    return text if stray is None else re.sub(stray, " ", text)


def _replace_invalid(text: str) -> str:
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _is_clean(path: Path, stray: str | None) -> bool:
    decoder, held = codecs.getincrementaldecoder("utf-8")(), b""
    pattern = None if stray is None else re.compile(stray.encode())
    try:
        with open_byte_stream(path) as stream:
            while chunk := bytes(stream.read(CHUNK_BYTES)):
                decoder.decode(chunk)
                whole = held + chunk
                held = b"\r" if whole.endswith(b"\r") else b""
                if pattern is not None and pattern.search(whole.removesuffix(b"\r")):
                    return False
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return pattern is None or not held


@dataclass(frozen=True)
class RecordGrammar:
    """How the records of a CSV file are written: its delimiter, width and line end.

    With `is_multiline`, a cell in quotation marks may hold line ends.
    """

    delimiter: str
    width: int
    line_end: str
    is_multiline: bool = True

    def records(self) -> re.Pattern[bytes]:
        """Return the pattern of records that every reader of CSV reads alike, as many as follow."""
        return re.compile(
            rb"(?:(?!\Z)(?:[^\"\r\n]*+"
            + self._end_pattern()
            + rb"|"
            + self._record_pattern(rb"", self._cell_text(rb"\""))
            + rb"))*+"
        )

    def record(self) -> re.Pattern[bytes]:
        """Return the pattern of one record, with quotation marks within cells and blanks around them."""
        return re.compile(
            rb"(?=[^\r\n])" + self._record_pattern(self._blanks_around(), self._unquoted_cell())
        )

    def cell(self) -> re.Pattern[bytes]:
        """Return the pattern of one cell of a record, and of what follows it."""
        mark = re.escape(self.delimiter.encode())
        quoted = _quoted_cell(self._blanks_around(), rb"[^\"]")
        return re.compile(rb"(" + quoted + rb"|" + self._unquoted_cell() + rb")(" + mark + rb"|)")

    def loose_cell(self) -> re.Pattern[bytes]:
        """Return the pattern of one cell of a line that is no record, and of what follows it.

        A cell that is properly quoted is one; any other ends at the next delimiter.
        """
        mark = re.escape(self.delimiter.encode())
        quoted = _quoted_cell(self._blanks_around(), rb"[^\"\r\n]")
        any_text = self._cell_text(rb"")
        return re.compile(
            rb"(" + quoted + rb"(?=" + mark + rb"|\Z)|" + any_text + rb")(" + mark + rb"|)"
        )

    def line(self) -> re.Pattern[bytes]:
        """Return the pattern of one line, whatever its quotation marks."""
        return re.compile(rb"([^\r\n]*+)" + self._end_pattern())

    def _record_pattern(self, blanks: bytes, plain: bytes) -> bytes:
        """Return the pattern of a line, or, if lines may be joined, of exactly one cell for each column."""
        found = self._cells_pattern(_quoted_cell(blanks, rb"[^\"\r\n]"), plain, rb"{0,%d}+")
        if self.is_multiline:
            found += rb"|" + self._cells_pattern(_quoted_cell(blanks, rb"[^\"]"), plain, rb"{%d}+")
        return rb"(?:" + found + rb")"

    def _cells_pattern(self, quoted: bytes, plain: bytes, count: bytes) -> bytes:
        mark, one = re.escape(self.delimiter.encode()), rb"(?:" + quoted + rb"|" + plain + rb")"
        return one + rb"(?:" + mark + one + rb")" + count % (self.width - 1) + self._end_pattern()

    def _unquoted_cell(self) -> bytes:
        """Return the pattern of a cell that does not begin with a quotation mark."""
        return rb"(?!" + self._blanks_around() + rb"\")" + self._cell_text(rb"")

    def _cell_text(self, without: bytes) -> bytes:
        mark = re.escape(self.delimiter.encode())
        if len(self.delimiter.encode()) == 1:
            return rb"[^" + mark + without + rb"\r\n]*+"
        return rb"(?:(?!" + mark + rb")[^" + without + rb"\r\n])*+"

    def _blanks_around(self) -> bytes:
        return rb"" if self.delimiter.startswith(" ") else rb" *+"

    def _end_pattern(self) -> bytes:
        end = {"\r": rb"\r", "\r\n": rb"\r\n", "\n": rb"\r?\n"}[self.line_end]
        return rb"(?:" + end + rb"|\Z)"


def _quoted_cell(blanks: bytes, letter: bytes) -> bytes:
    return blanks + rb"\"(?:" + letter + rb"++|\"\")*+\"" + blanks


def isolate_records(path: Path, grammar: RecordGrammar, *, folder: Path) -> Path:
    """Return a CSV file in UTF-8 in which no quotation mark reaches into another record.

    A line that is no record, such as one with a quotation mark that is never closed, is cut at its
    delimiters; its cells that are properly quoted stay whole, so that an id stays the id it is. So it
    changes no other line, unless another one closes what it opened in such a way that both together are
    one record.
    """
    if not path.stat().st_size:
        return path
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        odd = _odd_records(text, grammar) if text.find(b'"') >= 0 else iter(())
        first = next(odd, None)
        if first is None:
            return path
        handle, name = tempfile.mkstemp(dir=folder, prefix="records-")
        with open(handle, "wb") as out:  # noqa: PTH123 -- a handle
            place = 0
            for start, end, cells in chain([first], odd):
                _copy_bytes(text, place, start, out)
                out.write(grammar.delimiter.encode().join(cells[: grammar.width]))
                out.write(grammar.line_end.encode())
                place = end
            _copy_bytes(text, place, len(text), out)
    return Path(name)


def _odd_records(text: mmap.mmap, grammar: RecordGrammar) -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield start, end and cells of each record below the header that readers of CSV read differently."""
    records, record, line = grammar.records(), grammar.record(), grammar.line()
    cell, loose_cell = grammar.cell(), grammar.loose_cell()
    header = _HEADER.match(text)
    place = header.end() if header else 0
    while place < len(text):
        read = records.match(text, place)
        start = read.end() if read else place
        if start >= len(text):
            return
        found = record.match(text, start)
        if found is not None:
            cells = _split_cells(cell, text, start)
        else:
            found = line.match(text, start)
            cells = _split_cells(loose_cell, found[1], 0) if found else []
        place = found.end() if found else len(text)
        yield start, place, cells


def _split_cells(cell: re.Pattern[bytes], text: mmap.mmap | bytes, start: int) -> list[bytes]:
    cells, follows = list[bytes](), True
    while follows and (found := cell.match(text, start)):
        stripped = found[1].strip(b" ")
        cells.append(stripped if _QUOTED.fullmatch(stripped) else _quote_cell(found[1]))
        start, follows = found.end(), bool(found[2])
    return cells


def _quote_cell(cell: bytes) -> bytes:
    return b'"' + cell.replace(b'"', b'""') + b'"' if b'"' in cell else cell


def _copy_bytes(text: mmap.mmap, start: int, end: int, out: BinaryIO) -> None:
    for place in range(start, end, CHUNK_BYTES):
        out.write(text[place : min(place + CHUNK_BYTES, end)])
