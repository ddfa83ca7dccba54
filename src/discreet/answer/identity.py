"""Which accounts pay for a table, however it is reached: by the id in its policy, or by what is in it.

Guarantee: of two tables that share rows (`fingerprint.SAME_TABLE_SHARE` of those of either), the one that
is asked about later is charged to every account of the earlier one, also under another id. So the people
who are in both are protected by the budgets of the earlier table as well.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.answer.fingerprint import SAME_TABLE_SHARE, Sample, take_sample
from discreet.dp.ledger.ledger import Ledger
from discreet.dp.ledger.records import LedgerSource
from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.catalog import CatalogTable

_UNKNOWN = (
    "'{}' was not asked about here before, and its policy gives it no id. If it has rows of a table that "
    "was, both share a budget: `ask` finds out, since only then rows are read."
)
_UNKNOWN_ID = (
    "'{}' was not asked about under its id before. If it has rows of a table that was asked about under "
    "another one, it is charged to both accounts: `ask` finds out, since only then rows are read."
)
_DISTINCT = (
    "'{}' has rows like those of {}, and is not charged to its account, since the policy states "
    "`distinct-from`: both must hold different people."
)
_SHARED = (
    "'{}' has rows of what was asked about before ({}): the same people, so that questions about either "
    "are charged to the same account."
)
_DECLARED = (
    "The budget of '{}' is the one that another policy declares under the table's id, not this "
    "policy's: only a policy with that id changes it."
)
_PERIOD = re.compile(r"/\d{4}(s|-Q\d|-\d\d(-\d\d)?)?$")
RANK = "discreet_rank"  # the column that `register` adds, and that is not of the table


@dataclass(frozen=True)
class TableIdentity:
    """The accounts that pay for a table, and the cautions for the analyst.

    `declared` are those of them that other policies name by an id: this analyst
    cannot change their budgets. `is_own` means that the first is the table's own, whose budget the
    analyst's policy declares. `source` is what the ledger knows of it.
    """

    accounts: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()
    is_own: bool = True
    source: LedgerSource | None = None


def known_identity(held: CatalogTable, ledger: Ledger) -> TableIdentity | None:
    """Return the accounts of a table if they are known without reading a row, None otherwise."""
    if held.origin is None or ledger.is_temporary:
        return TableIdentity((held.account,))
    place = _hash_location(held, ledger)
    seen = None if place is None else ledger.find_source(place)
    own = _own_accounts(held)
    if seen is None or not set(own) <= set(seen.accounts):
        return None
    accounts = tuple(dict.fromkeys((*own, *seen.accounts)))
    known = ledger.source_labels()
    others = [one for one in known if one.id != seen.id]
    sharing = [one for one in others if set(one.accounts) & set(accounts) - set(own)]
    found = _make_identity(held, accounts, ledger, known=known, sharing=sharing)
    return replace(found, source=seen)


def expected_identity(held: CatalogTable, ledger: Ledger) -> TableIdentity:
    """Return the accounts that would pay for a table, without reading a row of it."""
    found = known_identity(held, ledger)
    if found is not None:
        return found
    known = ledger.source_labels()
    former = _former_accounts(held, ledger, known)
    if held.id is None:
        accounts = former or (held.account,)
        return TableIdentity(accounts, (_UNKNOWN.format(held.name),) if known else ())
    place = _hash_location(held, ledger)
    seen = None if place is None else ledger.find_source(place)
    if seen is not None:
        # Earlier questions about this file, under another id or none, were about the same people.
        accounts = tuple(dict.fromkeys((held.account, *seen.accounts)))
        return _make_identity(held, accounts, ledger, known=known, sharing=[])
    is_met = any(held.account in one.accounts for one in known)
    cautions = (_UNKNOWN_ID.format(held.name),) if known and not is_met else ()
    return TableIdentity(tuple(dict.fromkeys((held.account, *former))), cautions)


def find_identity(held: CatalogTable, ledger: Ledger, *, at: datetime) -> TableIdentity:
    """Return the accounts that pay for a table; it is read if it is not known at its place.

    A sample of it is kept, so that it is recognized elsewhere, with and without its policy.
    """
    while True:
        found = known_identity(held, ledger)
        if found is not None:
            return found
        known = ledger.sources()
        sample, shares = _sample(held, ledger, known)
        # What was read at its place before is the same table, also where it is read otherwise now.
        place = _hash_location(held, ledger)
        seen_here = None if place is None else ledger.find_source(place)
        same = [
            one
            for one, share in zip(known, shares, strict=True)
            if share >= SAME_TABLE_SHARE or (seen_here is not None and one.id == seen_here.id)
        ]
        shared = (name for one in same for name in one.accounts)
        former = _former_accounts(held, ledger, known)
        accounts = tuple(dict.fromkeys((*_own_accounts(held), *former, *shared)))
        accounts = accounts or (_fresh_account(held),)
        identity = _make_identity(held, accounts, ledger, known=known, sharing=same)
        added = _ledger_source(held, accounts, sample.pack(), is_declared=False)
        seen = frozenset(one.id for one in known)
        if ledger.add_source(added, place=place, seen=seen, at=at):
            return replace(identity, source=added)
        # Another process added a table meanwhile, which may be this one: compare again.


def remember_id(
    held: CatalogTable, ledger: Ledger, source: LedgerSource | None, *, at: datetime
) -> None:
    """Let the ledger know that a table was paid for under its id, and so has the budget of its policy."""
    if held.id is None or source is None:
        return
    if source.is_declared and source.accounts[0] == held.account:
        return
    accounts = tuple(dict.fromkeys((held.account, *source.accounts)))
    added = _ledger_source(held, accounts, source.sketch, is_declared=True)
    ledger.add_source(added, place=_hash_location(held, ledger), seen=None, at=at)


def _own_accounts(held: CatalogTable) -> tuple[str, ...]:
    return () if held.id is None else (held.account,)


def _former_accounts(
    held: CatalogTable, ledger: Ledger, known: Iterable[LedgerSource]
) -> tuple[str, ...]:
    """Return the accounts that a release which named them by place charged for this table.

    They count until rows were recognized under them. A file that was moved since is taken for one of its
    name that is gone. Without an id the first also names those of its periods and analysts.
    """
    if held.origin is None:
        return ()
    names = [account.name for account in ledger.accounts()]
    claimed = {name for one in known for name in one.accounts}
    bases = {name: _strip_account(name) for name in names}
    found: list[str] = []
    for base in dict.fromkeys((held.origin.former, *_moved_accounts(held.origin.name, bases))):
        family = [name for name in names if bases[name] == base]
        if family and base not in claimed:
            found += [base] if held.id is None else family
    return tuple(found)


def _moved_accounts(file: str, bases: Mapping[str, str]) -> list[str]:
    """Return the accounts of files that are no longer there and had this name."""
    former = [(base, Path(base.removeprefix("table:"))) for base in sorted({*bases.values()})]
    return [
        base
        for base, path in former
        if path.is_absolute() and path.name == file and not path.exists()
    ]


def _strip_account(name: str) -> str:
    """Return the account of the table that one of a period or of an analyst belongs to."""
    whole = name.partition("@")[2] if name.startswith("analyst:") else name
    return _PERIOD.sub("", whole)


def _sample(
    held: CatalogTable, ledger: Ledger, known: Iterable[LedgerSource]
) -> tuple[Sample, list[float]]:
    samples = [Sample.unpack(one.sketch) for one in known]
    return take_sample(held.table, samples, key=_derive_key(ledger, "rows"), without=(RANK,))


def _ledger_source(
    held: CatalogTable, accounts: tuple[str, ...], sketch: bytes, *, is_declared: bool
) -> LedgerSource:
    label = held.origin.label if held.origin else held.name
    # The same content under the same accounts is one source, wherever it was found.
    text = "\n".join([label, *accounts, *(["declared"] if is_declared else [])])
    digest = hashlib.sha256(text.encode() + b"\0" + sketch).hexdigest()
    return LedgerSource(digest[:32], accounts, label, is_declared, sketch)


def _hash_location(held: CatalogTable, ledger: Ledger) -> str | None:
    """Return a keyed hash of where a table is and when it was written, None where that is unknown."""
    if held.origin is None or held.origin.place is None:
        return None
    return hmac.new(
        _derive_key(ledger, "places"), held.origin.place.encode(), hashlib.sha256
    ).hexdigest()


def _derive_key(ledger: Ledger, use: str) -> bytes:
    return hmac.new(ledger.secret(), use.encode(), hashlib.sha256).digest()[:16]


def _fresh_account(held: CatalogTable) -> str:
    return f"table:{held.origin.name if held.origin else held.name}#{secrets.token_hex(6)}"


def _make_identity(
    held: CatalogTable,
    accounts: tuple[str, ...],
    ledger: Ledger,
    *,
    known: Iterable[LedgerSource],
    sharing: Iterable[LedgerSource],
) -> TableIdentity:
    """Return the accounts that pay; those whose budgets other policies declare are marked."""
    named = {one.accounts[0]: one for one in known if one.is_declared}
    own = set(_own_accounts(held))
    apart = _distinct_accounts(held)
    cautions = tuple(
        _DISTINCT.format(held.name, named[name].label if name in named else name)
        for name in accounts
        if name in apart
    )
    accounts = tuple(name for name in accounts if name not in apart)
    declared = frozenset(named.keys() & set(accounts) - own)
    for name in declared:
        _require_plain(name, named[name], ledger)
    others = [one for one in sharing if set(one.accounts) - own - apart]
    cautions += _sharing_cautions(held, others)
    is_own = held.id is not None or not declared
    if not is_own and held.policy is not None:
        cautions += (_DECLARED.format(held.name),)
    return TableIdentity(accounts, cautions, declared, is_own=is_own)


def _distinct_accounts(held: CatalogTable) -> frozenset[str]:
    """Return the accounts of tables that hold other people, as the policy states."""
    ids = held.policy.distinct_from if held.policy else ()
    return frozenset(f"table:{one}" for one in ids)


def _require_plain(name: str, source: LedgerSource, ledger: Ledger) -> None:
    """Refuse to ask without the policy about a table whose budget is not one of the table alone."""
    known = [account.name for account in ledger.accounts()]
    is_finer = any(
        one.startswith(f"{name}/") or one.endswith(f"@{name}") or f"@{name}/" in one
        for one in known
    )
    if is_finer or name not in known:
        raise QuestionRefused(
            f"These rows are those of {source.label}, whose budget is declared by a policy for a "
            "period, for each analyst or for several tables together. Ask with that policy: "
            "--policy FILE. If its rows only look alike and are other people's, state it there: "
            f"`distinct-from: [{name.removeprefix('table:')}]`."
        )


def _sharing_cautions(held: CatalogTable, others: Iterable[LedgerSource]) -> tuple[str, ...]:
    labels = sorted({one.label for one in others if held.origin and one.label != held.origin.label})
    if not labels:
        return ()
    listed = ", ".join(labels[:3]) + (f" and {len(labels) - 3} more" if len(labels) > 3 else "")
    return (_SHARED.format(held.name, listed),)
