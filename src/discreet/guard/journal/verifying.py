"""Verification of a journal: edits, gaps, cuts and rewrites are detected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from discreet.errors import StoreFailed, WrongUsage
from discreet.guard.journal import chain
from discreet.guard.journal.checkpoints import Checkpoint, is_signed
from discreet.guard.journal.event import format_event_time
from discreet.guard.journal.journal import Journal
from discreet.guard.journal.signing import stored_checkpoints
from discreet.result import Result

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


@dataclass(frozen=True)
class JournalVerification(Result):
    """The findings; `is_whole` when nothing contradicts the journal.

    `first` is the first entry stored here, `signed` the number of entries under a signature,
    `outside` how many checkpoints from elsewhere agree.
    """

    is_whole: bool
    entries: int
    first: int
    root: str
    signed: int
    checkpoints: int
    outside: int
    faults: tuple[str, ...]
    cautions: tuple[str, ...]


class JournalVerifier:
    """A check over the entries: the chain, and each checkpoint at its size."""

    def __init__(
        self,
        start: chain.ChainState,
        own: Sequence[Checkpoint],
        outside: Sequence[Checkpoint],
        public_key: Ed25519PublicKey | None,
    ) -> None:
        self.faults: list[str] = []
        self._walk = chain.ChainBuilder(start)
        self._start, self._key = start, public_key
        self._own, self._outside = list(own), list(outside)
        self._at: defaultdict[int, list[Checkpoint]] = defaultdict(list)
        self._agreed: list[Checkpoint] = []
        self._is_broken = False
        for checkpoint in self._usable_checkpoints():
            self._at[checkpoint.size].append(checkpoint)
        self._compare()
        if start.size and start.size not in {found.size for found in self._agreed}:
            self.faults.append(
                f"entries 1 to {start.size:,} are missing, and no checkpoint proves that they existed"
            )

    @property
    def size(self) -> int:
        """The number of entries checked so far."""
        return self._walk.size

    @property
    def is_broken(self) -> bool:
        """Whether the chain broke, so that later entries cannot be checked."""
        return self._is_broken

    def entry(self, sequence: int, body: str, digest: str | None = None) -> None:
        """Check one entry; `digest` is the hash stored with it."""
        wanted = self._walk.size + 1
        if sequence != wanted:
            missing = "is missing" if sequence > wanted else "is there twice"
            self._add_fault(f"entry {wanted:,} {missing}")
            return
        self._walk.append(body)
        if digest is not None and digest != self._walk.hash:
            self._add_fault(f"entry {sequence:,} was changed, or was put in")
            return
        self._compare()

    def end(self, last: chain.ChainState | None) -> JournalVerification:
        """Return the result after all entries; `last` is the expected end."""
        if not self._is_broken:
            self._compare_end(last)
        return JournalVerification(
            is_whole=not self.faults,
            entries=self._walk.size,
            first=self._start.size + 1,
            root=self._walk.root().hex(),
            signed=max((found.size for found in self._agreed), default=0) if self._key else 0,
            checkpoints=len(self._own),
            outside=sum(found in self._agreed for found in self._outside),
            faults=tuple(self.faults),
            cautions=tuple(self._list_cautions()),
        )

    def _usable_checkpoints(self) -> list[Checkpoint]:
        every = [*self._own, *self._outside]
        if self._key is not None:
            forged = [found for found in every if not is_signed(found, self._key)]
            self.faults += [
                f"the checkpoint of {found.size:,} entries is not signed by this key"
                for found in forged
            ]
            every = [found for found in every if found not in forged]
        if len({found.origin for found in every}) > 1:
            self.faults.append("its checkpoints are those of several journals")
        return every

    def _compare(self) -> None:
        waiting = self._at.pop(self._walk.size, None)
        if not waiting:
            return
        root, digest = self._walk.root(), self._walk.hash
        for checkpoint in waiting:
            if (checkpoint.root, checkpoint.hash) == (root, digest):
                self._agreed.append(checkpoint)
                continue
            self.faults.append(
                f"its first {checkpoint.size:,} entries are not those that were signed at "
                f"{format_event_time(checkpoint.at)}: it was rewritten"
            )

    def _compare_end(self, last: chain.ChainState | None) -> None:
        if last is not None and self._walk.state() != last:
            self.faults.append("its last entries are missing, or were added without the server")
        for size in sorted(self._at):
            at = format_event_time(self._at[size][0].at)
            if size > self._walk.size:
                self.faults.append(
                    f"it had {size:,} entries at {at}, and now has {self._walk.size:,}: its end was "
                    "cut off"
                )
        if self._key is not None and self._walk.size and not self._agreed:
            self.faults.append("none of its entries is signed")

    def _list_cautions(self) -> list[str]:
        found: list[str] = []
        archived = [size for size in self._at if size < self._start.size]
        if archived:
            found.append(
                f"{len(archived)} checkpoints are of entries that were archived: verify the archive."
            )
        if self._key is None:
            found.append(
                "No public key was given, so signatures were not checked: give --public-key."
            )
        if not any(checkpoint in self._outside for checkpoint in self._agreed):
            found.append(
                "No checkpoint from elsewhere was given: with the signing key, everything "
                "could have been rewritten unnoticed. Give --checkpoint with a file kept elsewhere."
            )
        signed = max((checkpoint.size for checkpoint in self._agreed), default=0)
        if self._walk.size > signed:
            found.append(f"The last {self._walk.size - signed:,} entries are not signed yet.")
        return found

    def _add_fault(self, fault: str) -> None:
        self._is_broken = True
        self.faults.append(fault)


def verify_journal(
    journal: Journal,
    *,
    checkpoints: Sequence[Checkpoint] = (),
    public_key: Ed25519PublicKey | None = None,
) -> JournalVerification:
    """Check all stored entries, the journal's own checkpoints, and `checkpoints` from elsewhere.

    Edits, deletions, insertions and cuts are detected by the chain and the journal's own
    checkpoints, unless both were rewritten as well. That is detected by `checkpoints` from elsewhere,
    and by nothing else.
    """
    try:
        journal.check()
        with journal.snapshot() as connection:
            return _verify(connection, checkpoints, public_key)
    except (StoreFailed, WrongUsage) as failed:
        return _unreadable_journal(str(failed))


def _verify(
    connection: Connection,
    outside: Sequence[Checkpoint],
    public_key: Ed25519PublicKey | None,
) -> JournalVerification:
    ends = chain.ends(connection)
    checking = JournalVerifier(ends.first, stored_checkpoints(connection), outside, public_key)
    for sequence, body, digest in chain.read_entries(connection):
        checking.entry(sequence, body, digest)
        if checking.is_broken:
            break
    return checking.end(ends.last)


def _unreadable_journal(fault: str) -> JournalVerification:
    return JournalVerification(
        is_whole=False,
        entries=0,
        first=1,
        root="",
        signed=0,
        checkpoints=0,
        outside=0,
        faults=(fault,),
        cautions=(),
    )
