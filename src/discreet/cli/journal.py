"""`discreet journal`: verify, show, export and archive a server's journal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import output
from discreet.cli.options import combine_options, json_option
from discreet.cli.server_folder import key_file_option, open_server_folder
from discreet.errors import OutputRefused, SourceNotFound, WrongUsage
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.guard.journal import EntryFilter, Journal, JournalEntry
    from discreet.guard.journal.checkpoints import Checkpoint
    from discreet.guard.journal.verifying import JournalVerification

EXAMPLES = """\b
PLACE is a journal's file, a server's folder, a folder of archives, or a URL.

\b
Examples:
  discreet journal verify clinic --checkpoint witness.txt
  discreet journal show clinic --user ada --decision denied
  discreet journal export clinic --since 2026-05-01 -o may.jsonl
  discreet journal archive clinic old --prune
  discreet journal prove clinic 17 -o entry-17.json
  discreet journal verify-proof entry-17.json --public-key journal.pub
"""


class MomentType(click.ParamType[datetime]):
    """A day or a moment; without a zone it is UTC."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Read ISO 8601."""
        if isinstance(value, datetime):
            return value
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            self.fail(
                f"'{value}' is no time. Write it as 2026-05-04 or 2026-05-04T12:00.", param, ctx
            )
        return found if found.tzinfo else found.replace(tzinfo=UTC)


@dataclass(frozen=True)
class ShownEntries(Result):
    """The entries that were asked for."""

    entries: list[dict[str, Any]]


@dataclass(frozen=True)
class ArchivedEntries(Result):
    """What was written into an archive, and whether the journal let go of it."""

    first: int | None
    last: int | None
    file: str | None
    pruned: bool


place_argument = click.argument("place", metavar="PLACE")
key_option = click.option(
    "--public-key",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Checks signatures. Default: keys/journal.pub in a server's folder.",
)
witness_option = click.option(
    "--checkpoint",
    "witnesses",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    metavar="FILE",
    help="Checkpoints that were kept elsewhere; may be given several times.",
)


# Which entries are chosen.
wanted_options = combine_options(
    click.option("--since", type=MomentType(), metavar="TIME", help="Only from this time on."),
    click.option("--until", type=MomentType(), metavar="TIME", help="Only before this time."),
    click.option("--user", metavar="NAME", help="Only of this user."),
    click.option("--kind", metavar="WORD", help="Only of this kind, such as login or grant."),
    click.option("--decision", metavar="WORD", help="Only allowed, denied or failed."),
    click.option("--table", metavar="NAME", help="Only what reads or writes this table."),
)


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for where lines go."""
    command = click.option("--force", is_flag=True, help="Replace the output if it is there.")(
        command
    )
    return click.option(
        "--output",
        "-o",
        "target",
        type=click.Path(path_type=Path, allow_dash=True),
        default="-",
        metavar="FILE",
        help="Where the lines go. Default: stdout.",
    )(command)


@click.group(epilog=EXAMPLES, subcommand_metavar="COMMAND …")
def command() -> None:
    """Verify, show, export, archive and prove a server's journal: what it decided."""


@command.command()
@place_argument
@witness_option
@key_option
@json_option
def verify(place: str, witnesses: Sequence[Path], public_key: Path | None, as_json: bool) -> int:
    """Check that every entry is what was written; exit 3 if not.

    A checkpoint that was kept elsewhere also finds a journal that was rewritten as a whole.
    """
    verdict = _verify(place, witnesses, public_key)
    if as_json:
        output.print_json(verdict)
    else:
        _print_verdict(verdict)
    return 0 if verdict.is_whole else 3


@command.command()
@place_argument
@wanted_options
@click.option(
    "--last",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="How many of the latest entries to show.",
)
@json_option
def show(place: str, last: int, as_json: bool, **wanted: Any) -> None:
    """Show the latest entries, the newest at the end."""
    from collections import deque

    with _open_entries(place, _entry_filter(wanted)) as found:
        entries = list(deque(found, maxlen=last))
    if as_json:
        output.print_json(ShownEntries([entry.to_plain() for entry in entries]))
    else:
        _print_entries(entries)


@command.command()
@place_argument
@wanted_options
@target_options
def export(place: str, target: Path, force: bool, **wanted: Any) -> None:
    """Write entries as JSON, one a line."""
    import json

    with _open_entries(place, _entry_filter(wanted)) as found:
        lines = (json.dumps(entry.to_plain(), sort_keys=True) + "\n" for entry in found)
        _write_lines(lines, target, force=force)


@command.command()
@place_argument
@click.argument("entry", metavar="ENTRY", type=click.IntRange(1))
@target_options
def prove(place: str, entry: int, target: Path, force: bool) -> None:
    """Write a proof that ENTRY, a number, is in the signed journal; it shows no other entry."""
    from discreet.guard.journal.proofs import prove_inclusion

    with _open_journal(place) as journal:
        _write_lines([prove_inclusion(journal, entry).to_json()], target, force=force)


@command.command()
@click.argument("proof", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--public-key",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="The key of the journal, from a place that its server cannot write.",
)
def verify_proof(proof: Path, public_key: Path) -> int:
    """Check what `prove` wrote, without the journal; exit 3 if it is no proof."""
    from discreet.guard.journal.keys import load_public_key
    from discreet.guard.journal.proofs import is_proven, read_proof

    try:
        text = proof.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SourceNotFound(f"There is no proof to read at {proof}.") from None
    found = read_proof(text, place=str(proof))
    if is_proven(found, load_public_key(public_key)):
        output.print_sentence(
            output.console(), f"Entry {found.entry:,} is in the signed journal: {found.body}"
        )
        return 0
    output.print_sentence(
        output.console(), "This is no proof: the entry, its place or the signature was changed."
    )
    return 3


def _write_lines(lines: Iterable[str], target: Path, *, force: bool) -> None:
    from discreet.writing import require_writable_path, write_atomically

    if str(target) == "-":
        sys.stdout.writelines(lines)
        return
    require_writable_path(target, may_exist=force)
    write_atomically(target, "".join(lines))


@command.command()
@place_argument
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--until", type=MomentType(), metavar="TIME", help="Only what was signed before.")
@click.option(
    "--prune", is_flag=True, help="Remove what is archived and verified from the journal."
)
@click.option("--dry-run", is_flag=True, help="Show what would be archived, and write nothing.")
@key_option
@key_file_option
@json_option
def archive(place: str, folder: Path, key_file: Path | None, as_json: bool, **choices: Any) -> None:
    """Write what is signed and not yet in FOLDER as a segment that can be verified by itself."""
    with _open_journal(place) as journal:
        if choices["prune"] and journal.is_sealed and Path(place).is_dir():
            _authenticate_journal(journal, Path(place), key_file)
        found = _archive_entries(
            journal, folder, _read_public_key(place, choices.pop("public_key")), **choices
        )
    if as_json:
        output.print_json(found)
        return
    to = output.console()
    if found.first is None:
        gone = " What was archived before is gone from the journal." if found.pruned else ""
        output.print_sentence(to, f"Nothing new is signed: nothing was archived.{gone}")
        return
    done = f"Entries {found.first:,} to {found.last:,}"
    if found.file is None:
        output.print_sentence(to, f"{done} would be archived.")
        return
    gone = ", and are gone from the journal" if found.pruned else ""
    output.print_sentence(to, f"{done} are in {found.file}{gone}.")


def _authenticate_journal(journal: Journal, data: Path, key_file: Path | None) -> None:
    """Let the journal of a server that has a key be changed."""
    with open_server_folder(data, key_file) as served:
        if served.seal is not None:
            journal.authenticate(served.seal)


def _archive_entries(
    journal: Journal,
    folder: Path,
    key: Any,
    *,
    until: datetime | None,
    prune: bool,
    dry_run: bool,
) -> ArchivedEntries:
    from discreet.guard.journal import archive as archives

    if dry_run:
        return _preview_archive(journal, folder, until)
    if prune and key is None:
        raise WrongUsage(
            "Entries are removed only when their archive is verified. Give --public-key."
        )
    segment = archives.archive_journal(journal, folder, until=until)
    if prune and archives.is_archive(folder):
        verdict = archives.verify_archive(folder, public_key=key)
        if not verdict.is_whole:
            raise OutputRefused(
                f"The archive in {folder} is not intact: {verdict.faults[0]}. Nothing was removed."
            )
        journal.prune(archives.segments(folder)[-1].end)
    if segment is None:
        return ArchivedEntries(None, None, None, pruned=prune)
    return ArchivedEntries(
        segment.start.size + 1, segment.end.size, str(segment.entries), pruned=prune
    )


def _preview_archive(journal: Journal, folder: Path, until: datetime | None) -> ArchivedEntries:
    from discreet.guard.journal.archive import bounds

    found = bounds(journal, folder, until=until)
    first, last = found or (None, None)
    return ArchivedEntries(first, last, None, pruned=False)


def _verify(place: str, witnesses: Sequence[Path], public_key: Path | None) -> JournalVerification:
    from discreet.guard.journal.archive import is_archive, verify_archive
    from discreet.guard.journal.verifying import verify_journal

    outside = [found for path in witnesses for found in _read_witness(path)]
    key = _read_public_key(place, public_key)
    if is_archive(Path(place)):
        return verify_archive(Path(place), checkpoints=outside, public_key=key)
    with _open_journal(place) as journal:
        return verify_journal(journal, checkpoints=outside, public_key=key)


def _read_witness(path: Path) -> list[Checkpoint]:
    from discreet.guard.journal.checkpoints import read_checkpoints

    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SourceNotFound(f"There are no checkpoints to read at {path}.") from None
    return read_checkpoints(text, place=str(path))


def _read_public_key(place: str, given: Path | None) -> Any:
    from discreet.guard.journal.keys import load_public_key

    beside = Path(place) / "keys" / "journal.pub"
    if given is None and "://" not in place and beside.is_file():
        given = beside
    return None if given is None else load_public_key(given)


@contextmanager
def _open_journal(place: str) -> Generator[Journal]:
    """Give a journal that is there; looking at one does not make it."""
    from discreet.guard.journal import Journal

    path = Path(place)
    if "://" not in place:
        path = path / "journal.sqlite" if path.is_dir() else path
        if not path.is_file():
            raise SourceNotFound(
                f"There is no journal at {path}. It is made by the first start of `discreet serve`."
            )
    journal = Journal(place if "://" in place else path)
    try:
        yield journal
    finally:
        journal.close()


@contextmanager
def _open_entries(place: str, wanted: EntryFilter) -> Generator[Iterator[JournalEntry]]:
    from discreet.guard.journal.archive import is_archive, read_archive

    if is_archive(Path(place)):
        yield read_archive(Path(place), wanted)
        return
    with _open_journal(place) as journal:
        yield journal.entries(wanted)


def _entry_filter(given: dict[str, Any]) -> EntryFilter:
    from discreet.guard.journal import EntryFilter
    from discreet.guard.journal.event import DECISIONS

    if given["decision"] not in (None, *DECISIONS):
        raise WrongUsage(f"A decision is {', '.join(DECISIONS[:-1])} or {DECISIONS[-1]}.")
    return EntryFilter(**given)


def _print_verdict(verdict: JournalVerification) -> None:
    from discreet.formatting import format_count

    to = output.console()
    kept = f"entries {verdict.first:,} to {verdict.entries:,}"
    if verdict.first > verdict.entries:
        kept = f"all {verdict.entries:,} entries were archived" if verdict.entries else "no entries"
    if verdict.is_whole:
        output.print_sentence(to, f"The journal is whole: {kept}.")
    else:
        output.print_sentence(to, "The journal is NOT what was written:", style="bold")
        for fault in verdict.faults:
            output.print_sentence(to, f"  - {fault}")
    output.print_sentence(
        to,
        f"Signed: {format_count(verdict.signed, 'entry', 'entries')}, by "
        f"{format_count(verdict.checkpoints, 'checkpoint', 'checkpoints')} here and "
        f"{verdict.outside:,} from elsewhere.",
    )
    for caution in verdict.cautions:
        output.print_sentence(to, f"Caution: {caution}")


def _print_entries(entries: Iterable[JournalEntry]) -> None:
    rows = [
        [
            entry.sequence,
            entry.event.at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            entry.event.user,
            entry.event.kind,
            entry.event.decision,
            entry.event.sqlstate or "",
            entry.event.statement or entry.event.reason or "",
        ]
        for entry in entries
    ]
    header = ["entry", "when (UTC)", "user", "kind", "decision", "state", "statement"]
    output.print_table(output.console(), "Journal", header, rows, texts=(1, 2, 3, 4, 5, 6))
