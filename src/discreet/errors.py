"""Every exception of discreet: what happened, where, what to do next, and a stable code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar


class DiscreetError(Exception):
    """Base of every error a caller may see; `str()` is a sentence that names the next step."""

    code: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1


class Bug(DiscreetError):
    """An impossible state was reached: please report it with the command you ran."""

    code = "bug"


class WrongUsage(DiscreetError):
    """The command or call contradicts itself or misses an argument."""

    code = "wrong-usage"
    exit_code = 2


class RefusedArgument(DiscreetError, TypeError):
    """An argument that another library's convention offers, and that privacy forbids."""

    code = "refused-argument"
    exit_code = 2


class BrokenExtension(DiscreetError):
    """An installed package offers an extension that cannot be imported or is not one."""

    code = "broken-extension"
    exit_code = 2


class MissingExtra(DiscreetError):
    """An optional library is needed and not installed."""

    code = "missing-extra"
    exit_code = 2

    def __init__(self, *, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional library. Run: pip install 'discreet[{extra}]'")


class SourceNotFound(DiscreetError):
    """The file, table or server that was named is not there."""

    code = "no-such-source"
    exit_code = 2


class UnreadableSource(DiscreetError):
    """The source exists but cannot be read as a table."""

    code = "unreadable-source"


class EmptySource(DiscreetError):
    """The source holds no header or no rows where rows are needed."""

    code = "empty-source"


class LockedSource(DiscreetError):
    """Another process holds the database."""

    code = "locked-source"


class EngineFailed(DiscreetError):
    """The engine refused a statement; its message is passed on only if it cannot quote data.

    `summary` is the message without the engine's own words: they may hold sizes and names that a
    custodian may see, and a client of the server may not.
    """

    code = "engine-failed"

    def __init__(self, summary: str, *, engine_words: str = "") -> None:
        super().__init__(f"{summary} {engine_words}".strip())
        self.summary = summary


class DuplicateColumns(DiscreetError):
    """Two columns of a source share one name."""

    code = "duplicate-columns"
    exit_code = 2


class UnknownColumn(DiscreetError):
    """A named column is not in the table."""

    code = "unknown-column"
    exit_code = 2


class ConflictingRoles(DiscreetError):
    """One column was given two roles that exclude each other."""

    code = "conflicting-roles"
    exit_code = 2


class InvalidPolicy(DiscreetError):
    """The policy file has faults; the message lists every one with its line."""

    code = "invalid-policy"
    exit_code = 2

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


class InvalidHierarchy(DiscreetError):
    """A hierarchy misses values or its levels do not nest.

    The missed values are data: they are in `missing` for the custodian, never in the message.
    """

    code = "invalid-hierarchy"
    exit_code = 2

    def __init__(self, message: str, *, missing: Sequence[str] = ()) -> None:
        self.missing = tuple(missing)
        super().__init__(message)


class InvalidCriterion(DiscreetError):
    """A criterion has a parameter outside its range, such as k = 0."""

    code = "invalid-criterion"
    exit_code = 2


class CriteriaUnreachable(DiscreetError):
    """No recoding of this table meets the criteria; the message shows what is reachable."""

    code = "criteria-unreachable"
    exit_code = 3


class InvalidStep(DiscreetError):
    """A step of the policy does not fit the table, such as rounding a column of text."""

    code = "invalid-step"
    exit_code = 2


class ReleaseFailed(DiscreetError):
    """A release, read again after it was written, does not meet its criteria: it was withdrawn."""

    code = "release-failed"
    exit_code = 3


class RiskNotTolerated(DiscreetError):
    """Attacks learn more from what was made than the policy tolerates: it was not published.

    `findings` holds what they learned; the message holds shares only.
    """

    code = "risk-not-tolerated"
    exit_code = 3

    def __init__(self, message: str, *, findings: Sequence[Any] = ()) -> None:
        self.findings = tuple(findings)
        super().__init__(message)


class InvalidManifest(DiscreetError):
    """A manifest cannot be read, or what it was made from has changed."""

    code = "invalid-manifest"
    exit_code = 2


class ModelFailed(DiscreetError):
    """A trained model cannot be loaded, applied or trained again; its own message may quote data."""

    code = "model-failed"
    exit_code = 1


class RegistryFailed(DiscreetError):
    """The registry of releases cannot be read or written, so that nothing is published."""

    code = "registry-failed"
    exit_code = 1


class OutputRefused(DiscreetError):
    """Writing would replace something, or the place cannot be written."""

    code = "output-refused"
    exit_code = 2


class UnprotectedFile(DiscreetError):
    """Others on this machine can read or change a file or folder that is for its owner only."""

    code = "unprotected-file"
    exit_code = 2


class InvalidKey(DiscreetError):
    """A secret key is missing, too short, readable by everyone, or not the one that is needed."""

    code = "invalid-key"
    exit_code = 2


class KeyInUse(DiscreetError):
    """A version of a key is not destroyed, because cells or backups need it."""

    code = "key-in-use"
    exit_code = 2


class UnkeyedHash(DiscreetError):
    """A plain hash was requested as a pseudonym; it is undone by guessing values."""

    code = "unkeyed-hash"
    exit_code = 2


class UnsuitableValues(DiscreetError):
    """A column holds values that the chosen pseudonym cannot replace safely."""

    code = "unsuitable-values"
    exit_code = 2


class InvalidQuestion(DiscreetError):
    """The text is not one SQL statement that can be read, or names what is not there."""

    code = "invalid-question"
    exit_code = 2


class QuestionRefused(DiscreetError):
    """The question has no private answer here; the message gives the reason and an alternative."""

    code = "question-refused"
    exit_code = 4


class UndeclaredKind(QuestionRefused):
    """The policy declares no kind for a column of the question."""

    code = "undeclared-kind"


class UndeclaredUnit(QuestionRefused):
    """The unit of a table is not declared, and a column looks like the key of a person."""

    code = "undeclared-unit"


class NoBounds(QuestionRefused):
    """A number is summed that has no declared bounds."""

    code = "no-bounds"


class UndeclaredDomain(QuestionRefused):
    """The policy does not declare the values or bounds of columns that are to be synthesized."""

    code = "undeclared-domain"

    def __init__(self, message: str, *, columns: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class BudgetExceeded(DiscreetError):
    """The question costs more than is left; nothing was read and nothing was spent."""

    code = "budget-exceeded"
    exit_code = 4


class InvalidBudget(DiscreetError):
    """A privacy parameter is outside its range, such as epsilon = 0."""

    code = "invalid-budget"
    exit_code = 2


class LedgerFailed(DiscreetError):
    """The ledger cannot be read or written; no question is answered without it."""

    code = "ledger-failed"


class InvalidMechanism(DiscreetError):
    """A mechanism or a table of its chances makes no sense, such as chances that do not add up to 1."""

    code = "invalid-mechanism"
    exit_code = 2


class StatementFailed(DiscreetError):
    """A statement was refused or failed; `sqlstate` is PostgreSQL's code of the reason.

    The message is safe to show to the client: it holds the client's own words and names that the
    client may know, never a value from a table and never an engine's text.
    """

    code = "statement-failed"

    def __init__(
        self, sqlstate: str, message: str, *, detail: str | None = None, hint: str | None = None
    ) -> None:
        self.sqlstate, self.detail, self.hint = sqlstate, detail, hint
        super().__init__(message)


class AccessDenied(StatementFailed):
    """The user lacks the privilege; `reason` is for the journal and the custodian."""

    code = "access-denied"
    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        sqlstate: str = "42501",
        reason: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.reason = reason or message
        super().__init__(sqlstate, message, hint=hint)


class StoreFailed(DiscreetError):
    """The control store or the journal cannot be read or written; nothing is allowed without it."""

    code = "store-failed"


class JournalBroken(DiscreetError):
    """The journal is not what was written: an entry was changed, removed or inserted."""

    code = "journal-broken"
    exit_code = 3


class LoginFailed(DiscreetError):
    """The login was refused; the message is the same for every reason."""

    code = "login-failed"
    exit_code = 4

    def __init__(self, message: str, *, sqlstate: str = "28P01") -> None:
        self.sqlstate = sqlstate
        super().__init__(message)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean 'age'?`, or the list of known words when none is near.

    >>> did_you_mean("agee", ["age", "zip"])
    " Did you mean 'age'?"
    >>> did_you_mean("salary", ["age", "zip"])
    " It is one of: 'age', 'zip'."
    >>> did_you_mean("nope.csv", ["voters.csv"]), did_you_mean("voter.csv", ["voters.csv"])
    (" It is one of: 'voters.csv'.", " Did you mean 'voters.csv'?")
    """
    choices = sorted(set(known) - {word})  # a broken link is listed, although it does not exist
    ending = "".join(word.lower().rpartition(".")[1:]) if "." in word else ""
    if not any(choice.lower().endswith(ending) for choice in choices):
        ending = ""
    # Files that share no more than `.csv` are not near.
    lowered = {choice.lower().removesuffix(ending): choice for choice in choices}
    near = get_close_matches(word.lower().removesuffix(ending), list(lowered), n=1, cutoff=0.6)
    if near:
        return f" Did you mean '{lowered[near[0]]}'?"
    if not choices:
        return ""
    shown = ", ".join(f"'{choice}'" for choice in choices[:12])
    rest = f" and {len(choices) - 12} more" if len(choices) > 12 else ""
    return f" It is one of: {shown}{rest}."
