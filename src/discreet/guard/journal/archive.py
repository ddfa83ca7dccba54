"""Archives: segments of the journal in files, verifiable without a server or trust in storage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from discreet.errors import OutputRefused, WrongUsage
from discreet.guard.journal import chain
from discreet.guard.journal.checkpoints import Checkpoint, read_checkpoints
from discreet.guard.journal.journal import Journal, journal_broken
from discreet.guard.journal.search import EntryFilter, JournalEntry, read_event
from discreet.guard.journal.signing import stored_checkpoints
from discreet.guard.journal.verifying import JournalVerification, JournalVerifier
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


FORMAT = 1
_PATTERN = "journal-*.manifest.json"


@dataclass(frozen=True)
class Segment:
    """Entries `start.size + 1` to `end.size`, in one file of one entry a line."""

    path: Path  # of the manifest
    start: chain.ChainState
    end: chain.ChainState
    sha256: str

    @property
    def entries(self) -> Path:
        """The file of entries."""
        return _sibling_path(self.path, ".jsonl")

    @property
    def checkpoint(self) -> Path:
        """The file of the checkpoint that covers all entries up to the segment's end."""
        return _sibling_path(self.path, ".checkpoint")


def is_archive(folder: Path) -> bool:
    """Return whether a folder holds segments of a journal."""
    return folder.is_dir() and any(folder.glob(_PATTERN))


def archive_journal(
    journal: Journal, folder: Path, *, until: datetime | None = None
) -> Segment | None:
    """Write the entries missing in `folder`, up to the newest checkpoint (before `until`).

    Returns:
        The new segment, None if there is nothing new.

    Raises:
        OutputRefused: the folder cannot be written, or holds an archive of another journal.
        JournalBroken: the entries to be archived are not those that were signed.
    """
    with journal.snapshot() as connection:
        found = _next_segment(connection, folder, until)
        return None if found is None else _write(connection, folder, *found)


def bounds(
    journal: Journal, folder: Path, *, until: datetime | None = None
) -> tuple[int, int] | None:
    """Return the first and the last entry that `archive_journal` would write, None if there are none."""
    with journal.snapshot() as connection:
        found = _next_segment(connection, folder, until)
    return None if found is None else (found[0].size + 1, found[1].size)


def segments(folder: Path) -> list[Segment]:
    """Return the segments of an archive, the first entries first.

    Raises:
        JournalBroken: a manifest cannot be read.
    """
    found = [_read_manifest(path) for path in folder.glob(_PATTERN)]
    return sorted(found, key=lambda segment: segment.start.size)


def read_archive(folder: Path, wanted: EntryFilter) -> Iterator[JournalEntry]:
    """Return the matching entries of an archive, in order."""
    for part in segments(folder):
        walk = chain.ChainBuilder(part.start)
        for sequence, body in _read_lines(part, []):
            walk.append(body)
            event = read_event(body, sequence)
            if wanted.matches(event):
                yield JournalEntry(sequence, walk.hash, event, body)


def verify_archive(
    folder: Path,
    *,
    checkpoints: Sequence[Checkpoint] = (),
    public_key: Ed25519PublicKey | None = None,
) -> JournalVerification:
    """Check an archive by its files alone, and against `checkpoints` stored elsewhere.

    Raises:
        JournalBroken: a file of the archive is missing or cannot be read.
    """
    parts = segments(folder)
    if not parts:
        raise WrongUsage(f"{folder} holds no segment of a journal. Name another folder.")
    own = [_read_checkpoint(part) for part in parts]
    checking = JournalVerifier(parts[0].start, own, checkpoints, public_key)
    for part in parts:
        if checking.size != part.start.size:
            checking.faults.append(
                f"the segment with entry {checking.size + 1:,} is missing from the archive"
            )
            break
        for sequence, body in _read_lines(part, checking.faults):
            checking.entry(sequence, body)
    return checking.end(parts[-1].end)


def _next_segment(
    connection: Connection, folder: Path, until: datetime | None
) -> tuple[chain.ChainState, Checkpoint] | None:
    """Return the start of the next segment, and the checkpoint at its end."""
    if not folder.is_dir():
        raise OutputRefused(f"There is no folder {folder}. Create it, or choose another place.")
    start = _start(folder, chain.ends(connection).first)
    signed = [
        found for found in stored_checkpoints(connection) if until is None or found.at < until
    ]
    if not signed or signed[-1].size <= start.size:
        return None
    return start, signed[-1]


def _start(folder: Path, first: chain.ChainState) -> chain.ChainState:
    parts = segments(folder)
    if not parts:
        return first
    end = parts[-1].end
    if end.size < first.size:
        raise OutputRefused(
            f"The archive in {folder} ends at entry {end.size:,}, and the journal starts after entry "
            f"{first.size:,}. Name the folder that holds the entries between."
        )
    return end


def _write(
    connection: Connection, folder: Path, start: chain.ChainState, checkpoint: Checkpoint
) -> Segment:
    walk = chain.ChainBuilder(start)
    lines: list[str] = []
    for sequence, body, digest in chain.read_entries(
        connection, after=start.size, until=checkpoint.size
    ):
        walk.append(body)
        if (sequence, digest) != (walk.size, walk.hash):
            raise journal_broken(f"entry {walk.size:,} was changed, or one before it is missing")
        lines.append(body)
    if (walk.size, walk.root()) != (checkpoint.size, checkpoint.root):
        raise journal_broken("its entries are not those that were signed")
    text = "".join(f"{line}\n" for line in lines)
    name = f"journal-{start.size + 1:012}-{walk.size:012}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    segment = Segment(folder / f"{name}.manifest.json", start, walk.state(), digest)
    # The manifest last: without it there is no segment.
    _write_once(segment.entries, text)
    _write_once(segment.checkpoint, checkpoint.note)
    _write_once(segment.path, json.dumps(_build_manifest(segment, checkpoint), indent=2) + "\n")
    return segment


def _build_manifest(segment: Segment, checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "origin": checkpoint.origin,
        "first": segment.start.size + 1,
        "last": segment.end.size,
        "start": segment.start.to_plain(),
        "end": segment.end.to_plain(),
        "root": checkpoint.root.hex(),
        "entries": segment.entries.name,
        "sha256": segment.sha256,
        "checkpoint": segment.checkpoint.name,
    }


def _write_once(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)  # of a run that ended before its manifest
    write_atomically(path, text)
    path.chmod(0o400)


def _read_manifest(path: Path) -> Segment:
    try:
        read = json.loads(path.read_text("utf-8"))
        if read["format"] > FORMAT:
            raise WrongUsage(f"{path} was written by a newer discreet. Update discreet.")
        return Segment(path, _read_state(read["start"]), _read_state(read["end"]), read["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        raise journal_broken(f"the manifest {path.name} of its archive cannot be read") from None


def _read_state(written: dict[str, Any]) -> chain.ChainState:
    return chain.ChainState(written["hash"], chain.read_frontier(written["size"], written["peaks"]))


def _read_checkpoint(part: Segment) -> Checkpoint:
    try:
        text = part.checkpoint.read_text("utf-8")
    except (OSError, ValueError):
        raise journal_broken(f"{part.checkpoint.name} is missing from its archive") from None
    return read_checkpoints(text, place=str(part.checkpoint))[-1]


def _read_lines(part: Segment, faults: list[str]) -> Iterator[tuple[int, str]]:
    try:
        content = part.entries.read_bytes()
    except OSError:
        raise journal_broken(f"{part.entries.name} is missing from its archive") from None
    if hashlib.sha256(content).hexdigest() != part.sha256:
        faults.append(f"{part.entries.name} is not the file that was archived")
    text = content.decode("ascii", errors="replace")
    yield from enumerate(text.splitlines(), part.start.size + 1)


def _sibling_path(manifest: Path, ending: str) -> Path:
    return manifest.with_name(manifest.name.removesuffix(".manifest.json") + ending)
