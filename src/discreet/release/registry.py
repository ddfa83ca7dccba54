"""The custodian's registry of releases: what was published of which people, wherever it went.

A folder `discreet-releases` beside the policy or the source, for its owner only. It holds a record for
each release, its rows (a second link to the published file, or a copy), and a secret key, with which
the files that were read are remembered. Nothing in it is published.
"""

from __future__ import annotations

import fcntl
import glob
import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.engines.address import without_password
from discreet.errors import DiscreetError, OutputRefused, RegistryFailed
from discreet.policy import model
from discreet.release.history import EarlierRelease
from discreet.stores.state_folder import state_folder
from discreet.writing import make_private_folder, write_private_file

NAME = "discreet-releases"
_KEY, _ENDING = "key", ".json"
_REIDENTIFIED = "reidentified.jsonl"
_KEY_BYTES = 32


@dataclass(frozen=True)
class ReleaseSubject:
    """Whose rows are published: a table of a policy, a source, or both.

    Two releases are of the same people when they have the source in common, or table and policy, or
    the id that the policy gives the table, wherever policy and source are now.
    """

    table: str
    policy: str | None = None
    source: str | None = None
    id: str | None = None

    def is_same(self, other: ReleaseSubject) -> bool:
        """Return whether releases of both may be of the same people."""
        by_policy = self.policy is not None and self.policy == other.policy
        by_source = self.source is not None and self.source == other.source
        by_id = self.id is not None and self.id == other.id
        return by_id or by_source or (by_policy and self.table == other.table)


def make_subject(table: str, *, policy: object, source: object) -> ReleaseSubject:
    """Return whose rows `source` holds; files are named by where they really are."""
    return ReleaseSubject(table, _resolve_place(policy), _resolve_place(source))


def registry_folders(*, policy: object, source: object) -> tuple[Path, ...]:
    """Return where releases of a source are remembered: beside its policy, and beside itself.

    The first is the main one. A source that is no file and has no policy is remembered in the folder
    of the user's own state, and so is one whose folders cannot be written.
    """
    folders = [
        path.resolve().parent for path in map(_find_path, (policy, source)) if path is not None
    ]
    usable = [folder for folder in dict.fromkeys(folders) if os.access(folder, os.W_OK)]
    if usable:
        return tuple(folder / NAME for folder in usable)
    return (state_folder() / NAME,)


@dataclass(frozen=True)
class Registry:
    """The folders in which the releases of a subject are remembered; none for a table without a place."""

    subject: ReleaseSubject
    folders: tuple[Path, ...] = ()
    made: str | None = None  # when the release that is about to be made is made
    quasi: tuple[str, ...] | None = None  # what outsiders are taken to know; None if unknown
    remembers: bool = True  # rows that stay in memory are tried with earlier releases, and not kept

    def earlier(self) -> tuple[EarlierRelease, ...]:
        """Return the releases of the same people, oldest first.

        Raises:
            RegistryFailed: A record cannot be read: its release might reveal more together with this one.
        """
        found: dict[str, tuple[str, EarlierRelease]] = {}
        for folder in self.folders:
            for path in sorted(folder.glob(f"*{_ENDING}")):
                record = _read(path)
                if self.subject.is_same(ReleaseSubject(**record["subject"])):
                    one = _earlier_release(record, self.folders)
                    found.setdefault(record["id"], (record["made"], one))
        return tuple(one for _, one in sorted(found.values(), key=lambda pair: pair[0]))

    @contextmanager
    def begin_release(self, output: str | None) -> Generator[PendingRelease]:
        """Give what was published before, and remember what is published inside; None is a dry run.

        No other release of these people is made meanwhile: two at once would not see each other. What is
        remembered and then not published is forgotten.
        """
        with ExitStack() as stack:
            if output is not None and self.remembers:
                for folder in sorted(self.folders):
                    stack.enter_context(_lock_folder(folder))
            one = PendingRelease(self, output, self.earlier())
            try:
                yield one
            except BaseException:
                if one.record is not None and not one.is_published:
                    one.record.forget()
                raise

    def add(self, output: str, rows: Path | None, sha256: str | None) -> RegistryRecord | None:
        """Remember a release, with its rows where they are a file or a folder."""
        if not self.folders or not self.remembers:
            return None
        identity = secrets.token_hex(16)
        kept = _copy_rows(rows, self.folders[0] / identity) if rows is not None else None
        content = {
            "id": identity,
            "made": self.made,
            "subject": asdict(self.subject),
            "output": output,
            "sha256": sha256,
            "rows": str(kept) if kept is not None else None,
            "quasi": self.quasi,
        }
        for folder in self.folders:
            _write(folder / f"{identity}{_ENDING}", content)
        return RegistryRecord(self.folders, identity, content)


def registry_of_table(
    registry: Registry | None, table: str, policy: model.TablePolicy | None
) -> Registry:
    """Return the registry of the policy's table, for any name of its file."""
    if registry is None:
        return Registry(ReleaseSubject(table))
    subject = replace(registry.subject, table=table, id=policy.id if policy else None)
    quasi = policy.with_role(model.ColumnRole.QUASI_IDENTIFIER) if policy else None
    return replace(registry, subject=subject, quasi=tuple(quasi) if quasi is not None else None)


@dataclass
class PendingRelease:
    """A release on its way: what was published before it, and its own record once there is one."""

    registry: Registry
    output: str | None
    earlier: tuple[EarlierRelease, ...]
    record: RegistryRecord | None = None
    is_published: bool = False

    def remember(self, rows: Path | None, sha256: str | None) -> None:
        """Write the record before the release is visible: a crash must not lose it."""
        if self.output is not None:
            self.record = self.registry.add(self.output, rows, sha256)

    def keep_rows(self, rows: Path | None, sha256: str | None) -> None:
        """Keep the rows of a release that was remembered before they were there."""
        self.is_published = True
        if self.record is not None and rows is not None:
            self.record = self.record.with_rows(rows, sha256)


@dataclass(frozen=True)
class RegistryRecord:
    """One release in the registry."""

    folders: tuple[Path, ...]
    id: str
    content: Mapping[str, Any] = field(repr=False)

    def amend(self, **more: Any) -> RegistryRecord:
        """Add what is known now to the main record."""
        changed = replace(self, content={**self.content, **more})
        _write(self.folders[0] / f"{self.id}{_ENDING}", changed.content)
        return changed

    def with_rows(self, rows: Path, sha256: str | None) -> RegistryRecord:
        """Keep the rows, and say so in every folder."""
        kept = _copy_rows(rows, self.folders[0] / self.id)
        changed = replace(self, content={**self.content, "rows": str(kept), "sha256": sha256})
        for folder in self.folders:
            _write(folder / f"{self.id}{_ENDING}", changed.content)
        return changed

    def forget(self) -> None:
        """Remove what was remembered of a release that was not published after all."""
        for folder in self.folders:
            (folder / f"{self.id}{_ENDING}").unlink(missing_ok=True)
        rows = self.content["rows"]
        if rows is not None:
            shutil.rmtree(rows, ignore_errors=True)
            with suppress(OSError):
                Path(rows).unlink(missing_ok=True)

    def keyed_digest(self, path: Path) -> str:
        """Return a digest of a file that is meaningless without the registry's key."""
        return keyed_digest(path, key=_registry_key(self.folders[0]))


def find_record(folders: Sequence[Path], identity: str) -> RegistryRecord | None:
    """Return the record of a release by its id, from the folder that has all of it."""
    for folder in folders:
        path = folder / f"{identity}{_ENDING}"
        if path.is_file():
            content = _read(path)
            if "arguments" in content or "files" in content:
                return RegistryRecord((folder,), identity, content)
    return None


def remember_reidentification(folders: Sequence[Path], **entry: Any) -> None:
    """Write down that the holder of a key is about to see the values behind pseudonyms.

    Raises:
        RegistryFailed: It cannot be written down, so that nothing must be undone.
    """
    line = json.dumps(entry, ensure_ascii=False) + "\n"
    for folder in folders:
        with _lock_folder(folder):
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                with os.fdopen(os.open(folder / _REIDENTIFIED, flags, 0o600), "ab") as file:
                    file.write(line.encode())
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise RegistryFailed(
                    f"The re-identification cannot be written down in {folder}: {error.strerror}. "
                    "Nothing was undone."
                ) from None


def keyed_digest(path: Path, *, key: bytes) -> str:
    """Return the HMAC-SHA-256 of a file's bytes: without the key no guess at them can be confirmed."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, lambda: hmac.new(key, digestmod="sha256"))  # pyright: ignore[reportArgumentType]
    return digest.hexdigest()


def _earlier_release(record: Mapping[str, Any], folders: Sequence[Path]) -> EarlierRelease:
    quasi = record["quasi"]
    return EarlierRelease(
        record["output"],
        record["sha256"],
        record["made"],
        rows=_kept_rows(record["rows"], folders),
        quasi=tuple(quasi) if quasi is not None else None,
    )


def _kept_rows(rows: str | None, folders: Sequence[Path]) -> str | None:
    """Return where kept rows are now: the folder may have been moved, with its policy or source."""
    if rows is None or Path(rows).exists():
        return rows
    moved = [folder / Path(rows).name for folder in folders]
    return next((str(path) for path in moved if path.exists()), rows)


def _copy_rows(rows: Path, place: Path) -> Path:
    """Keep rows under a name of their own: a second link to the same bytes, or a copy."""
    target = place.with_name(f"{place.name}{''.join(rows.suffixes)}")
    try:
        if rows.is_dir():
            shutil.copytree(rows, target, copy_function=_link_or_copy)
        else:
            _link_or_copy(str(rows), str(target))
    except OSError as error:
        raise RegistryFailed(
            f"The rows of a release cannot be kept in {place.parent}: {error.strerror}. Make room "
            "there, and publish again with --force."
        ) from None
    return target


def _link_or_copy(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target


def _registry_key(folder: Path) -> bytes:
    path = folder / _KEY
    if not path.exists():
        with suppress(OutputRefused):  # another process made one meanwhile
            write_private_file(
                path, secrets.token_hex(_KEY_BYTES).encode() + b"\n", may_exist=False
            )
    try:
        return bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError):
        raise RegistryFailed(f"{path} is no key. Bring back the one that was there.") from None


@contextmanager
def _lock_folder(folder: Path) -> Generator[None]:
    """Hold the folder alone; one in which nothing was remembered goes away again."""
    handle = _acquire_lock(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
        os.close(handle)


def _acquire_lock(folder: Path) -> int:
    while True:
        _make(folder)
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(OSError):
            if os.path.samestat(os.fstat(handle), folder.stat()):
                return handle
        os.close(handle)  # the holder removed it meanwhile


def _make(folder: Path) -> None:
    try:
        make_private_folder(folder)
    except DiscreetError as error:
        raise RegistryFailed(
            f"Nothing was published, because releases cannot be remembered. {error}"
        ) from None


def _write(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_private_file(path, text.encode(), may_exist=True)


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        ReleaseSubject(**content["subject"])
        absent = dict.fromkeys(("made", "sha256", "rows", "quasi"))
        return {**absent, **content, "id": str(content["id"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise RegistryFailed(
            f"{path} cannot be read as the record of a release: what was published then might reveal "
            "more together with this. Bring it back, or move it away if you know what it was."
        ) from None


def _find_path(place: object) -> Path | None:
    """Return the file that a place names, or the first of those that a pattern does."""
    if not isinstance(place, (str, Path)) or "://" in str(place):
        return None
    found = [place] if Path(place).exists() else sorted(glob.glob(str(place)))  # noqa: PTH207
    return Path(found[0]) if found else None


def _resolve_place(place: object) -> str | None:
    path = _find_path(place)
    if path is None:
        return without_password(place) if isinstance(place, str) and ":" in place else None
    if Path(str(place)).exists() or len(glob.glob(str(place))) == 1:  # noqa: PTH207
        return str(path.resolve())
    return str(Path(str(place)).absolute())
