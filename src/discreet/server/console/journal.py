"""The journal: what was decided, its verification, export, and the proof of one entry."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from urllib.parse import urlencode

from starlette.responses import Response

from discreet.errors import StatementFailed
from discreet.formatting import format_count
from discreet.guard.journal.event import DECISIONS, KINDS
from discreet.guard.journal.keys import load_public_key
from discreet.guard.journal.proofs import prove_inclusion
from discreet.guard.journal.search import EntryFilter, LatestEntries
from discreet.guard.journal.verifying import JournalVerification, verify_journal
from discreet.server.console.pages import HEADERS, SameAs
from discreet.server.console.requests import ConsoleRequest

MOST_ENTRIES = 100  # of a page
MOST_EXPORTED = 100_000
_CHOICES = ("user", "kind", "decision", "table", "since", "until")


def show_journal(asked: ConsoleRequest) -> Response:
    """Return the newest entries that match the form."""
    return _render_page(asked)


def show_verification(asked: ConsoleRequest) -> Response:
    """Check every entry, and return the page with what was found."""
    asked.require_superuser("verify the journal")
    key = load_public_key(asked.server.settings.place("keys/journal.pub"))
    return _render_page(asked, verify_journal(asked.server.journal, public_key=key))


def send_entries(asked: ConsoleRequest) -> Response:
    """Return the entries that match, one a line as JSON."""
    asked.require_superuser("export the journal")
    wanted = _read_filter(asked.form)
    asked.server.audit.record_act(asked.session.client, "console: exported the journal")
    found = list(islice(asked.server.journal.entries(wanted), MOST_EXPORTED + 1))
    if len(found) > MOST_EXPORTED:  # a part would look like all of it
        raise StatementFailed(
            "54000",
            f"more than {MOST_EXPORTED:,} entries match",
            hint="Choose a shorter time, or export with `discreet journal export`, which has no such limit.",
        )
    lines = [json.dumps(entry.to_plain(), sort_keys=True) for entry in found]
    return _send_file("".join(f"{line}\n" for line in lines), "journal.jsonl")


def send_proof(asked: ConsoleRequest) -> Response:
    """Return the proof that an entry is in the signed journal; it shows no other entry."""
    asked.require_superuser("prove entries of the journal")
    number = _read_number(asked.form.get("entry", ""))
    return _send_file(
        prove_inclusion(asked.server.journal, number).to_json(), f"entry-{number}.json"
    )


def _send_file(text: str, name: str) -> Response:
    headers = {**HEADERS, "Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type="application/json", headers=headers)


def _render_page(asked: ConsoleRequest, found: JournalVerification | None = None) -> Response:
    asked.require_superuser("read the journal")
    wanted = _read_filter(asked.form)
    before = asked.form.get("before", "")
    asked.server.audit.record_act(asked.session.client, "console: read the journal")
    journal = asked.server.journal
    latest = journal.latest(
        wanted, most=MOST_ENTRIES, before=_read_number(before) if before else None
    )
    checkpoints = journal.checkpoints()
    chosen = {name: asked.form.get(name, "") for name in _CHOICES}
    return asked.render(
        "journal.html.j2",
        verdict=_word_verification(found)
        if found is not None
        else _word_entries(latest, journal.size()),
        found=found,
        latest=latest,
        signed=checkpoints[-1].size if checkpoints else 0,
        checkpoint=checkpoints[-1].note if checkpoints else "",
        unwitnessed=journal.unwitnessed,
        chosen=chosen,
        older=urlencode({**chosen, "before": latest.next}) if latest.next is not None else "",
        kinds=KINDS,
        decisions=DECISIONS,
        same=_same_elsewhere(asked, chosen),
    )


def _read_filter(form: Mapping[str, str]) -> EntryFilter:
    given = {name: form.get(name, "").strip() or None for name in _CHOICES}
    return EntryFilter(
        since=_read_moment(given["since"]),
        until=_read_moment(given["until"]),
        user=given["user"],
        kind=given["kind"],
        decision=given["decision"],
        table=given["table"],
    )


def _read_moment(text: str | None) -> datetime | None:
    """Return a moment; without a zone it is UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise StatementFailed(
            "22007", "that is no time", hint="Write it as 2026-05-04 or 2026-05-04T12:00."
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _read_number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 15 or not int(text):
        raise StatementFailed("22023", "that is no number of an entry")
    return int(text)


def _word_entries(latest: LatestEntries, size: int) -> str:
    if not latest.entries:
        return f"None of {format_count(size, 'entry', 'entries')} matches."
    denied = sum(entry.event.decision == "denied" for entry in latest.entries)
    shown = format_count(len(latest.entries), "entry", "entries")
    return f"{denied:,} of the latest {shown} {'is a refusal' if denied == 1 else 'are refusals'}."


def _word_verification(found: JournalVerification) -> str:
    if not found.is_whole:
        return "The journal is not what was written."
    return (
        f"The journal is whole: {format_count(found.entries, 'entry', 'entries')}, "
        f"{found.signed:,} of them under a signature."
    )


def _same_elsewhere(asked: ConsoleRequest, chosen: Mapping[str, str]) -> SameAs:
    folder = str(asked.server.settings.data)
    options = [word for name in _CHOICES if chosen[name] for word in (f"--{name}", chosen[name])]
    commands = [
        ["discreet", "journal", "show", folder, *options],
        ["discreet", "journal", "verify", folder],
        ["discreet", "journal", "export", folder, *options, "-o", "journal.jsonl"],
    ]
    python = (
        "from discreet.guard.journal import EntryFilter, Journal\n\n"
        f"journal = Journal({folder + '/journal.sqlite'!r})\n"
        f"entries = list(journal.entries(EntryFilter(user={chosen['user'] or None!r})))"
    )
    return SameAs(
        "\n".join(shlex.join(words) for words in commands),
        python,
        "-- The journal is no table: superusers read it here, auditors with the command line.",
    )
