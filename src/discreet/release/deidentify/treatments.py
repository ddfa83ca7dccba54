"""Safe Harbor's treatment of each column: its class, the action, and the reason.

What a column is, `discreet.measure.profile` decides for every command; here is what the rule does to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from discreet.engines.engine import Kind, Table
from discreet.errors import ConflictingRoles, WrongUsage
from discreet.measure.profile import RoleGuess
from discreet.measure.profile.guess import UNIQUE_SHARE
from discreet.measure.profile.identifiers import SAFE_HARBOR
from discreet.measure.roles import require_column
from discreet.policy import model
from discreet.policy.model import ColumnRole

TEXT, AGES, ZIPS = "text", "age", "zip"
"""Words in the place of a class's letter: free text, ages in years (C), ZIP codes (B)."""

_UNRECOGNIZED = "in no class: few people stand out on it"


class Action(StrEnum):
    """What is done to a column."""

    KEEP = "kept"
    REMOVE = "removed"
    PREFIX = "three digits"
    YEAR = "year"
    AGE = "age up to 89"
    REDACT = "redacted"


_STATED = {
    TEXT: (Action.REDACT, None, "free text, as declared"),
    AGES: (Action.AGE, "C", "ages in years, as declared"),
    ZIPS: (Action.PREFIX, "B", "ZIP codes, as declared"),
}


@dataclass(frozen=True)
class Treatment:
    """One column's class of the rule, what is done to it, and why; it quotes no cell."""

    column: str
    action: Action
    letter: str | None
    reason: str


def treat_columns(
    table: Table,
    guesses: Mapping[str, RoleGuess],
    *,
    classes: Mapping[str, str] | None = None,
    keep: Collection[str] = (),
    policy: model.TablePolicy | None = None,
) -> tuple[Treatment, ...]:
    """Return the treatment of every column of `table`, in the table's order.

    Args:
        table: The table.
        guesses: What each column is taken to be.
        classes: Columns whose class the custodian knows: a letter from A to R, or `zip`, `age` or
            `text` for columns of these.
        keep: Columns that the custodian vouches for: they stay as they are.
        policy: The table's policy; its identifiers are always removed.
    """
    stated = _check_choices(table, classes or {}, keep)
    roles = {column.name: column.role for column in policy.columns} if policy else {}
    return tuple(
        _treat_column(guesses[column.name], stated.get(column.name), column.name in keep, roles)
        for column in table.columns
    )


def _check_choices(
    table: Table, classes: Mapping[str, str], keep: Collection[str]
) -> dict[str, str]:
    for name in (*classes, *keep):
        require_column(table, name)
    if both := sorted(set(classes) & set(keep)):
        raise ConflictingRoles(
            f"Column '{both[0]}' has a class and is to be kept as it is. Name it once."
        )
    found = {name: word if word in _STATED else word.upper() for name, word in classes.items()}
    for name, letter in found.items():
        if letter not in (*_STATED, *SAFE_HARBOR):
            raise WrongUsage(
                f"The class of column '{name}' is unknown. Give a letter from A to R of 45 CFR "
                "164.514(b)(2)(i), or one of the words zip, age and text."
            )
    return found


def _treat_column(
    guess: RoleGuess, stated: str | None, keep: bool, roles: Mapping[str, ColumnRole]
) -> Treatment:
    name, role = guess.column, roles.get(guess.column)
    if keep:
        return Treatment(name, Action.KEEP, guess.safe_harbor, "kept as it is on your word")
    if stated in _STATED:
        return Treatment(name, *_STATED[stated])
    if stated is not None:
        return _of_class(guess, stated)
    if role is not None and role.names_people:
        letter = guess.safe_harbor or "R"
        article = "an" if role is ColumnRole.IDENTIFIER else "a"
        return Treatment(name, Action.REMOVE, letter, f"{article} {role} by the policy")
    if ColumnRole.WEIGHT in (role, guess.role) and role in (None, ColumnRole.WEIGHT):
        reason = "a sampling weight: one that few people have singles them out"
        return Treatment(name, Action.REMOVE, "R", reason)
    for rule in _RULES:
        if (found := rule(guess, role)) is not None:
            return found
    return _by_uniqueness(guess, role)


def _of_class(guess: RoleGuess, letter: str) -> Treatment:
    """Return what the rule does to a class the custodian named."""
    reason = f"class {letter}, as declared: {SAFE_HARBOR[letter]}"
    # Whole numbers may be days, months or districts: only what looks like it is coarsened.
    action = Action.REMOVE
    if letter == "B" and (
        guess.meaning == "postcode" or _pattern_share(guess, "five digits") >= 0.5
    ):
        action = Action.PREFIX
    elif letter == "C":
        action = Action.AGE if guess.meaning == "age" else Action.YEAR
    return Treatment(guess.column, action, letter, reason)


def _by_kind(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    """What cannot be looked into, goes; so does the time of day."""
    del role
    kind = guess.evidence["kind"]
    if kind is Kind.OTHER:
        letter = guess.safe_harbor or "R"
        reason = "bytes, lists or nested values, which cannot be examined"
        return Treatment(guess.column, Action.REMOVE, letter, reason)
    if kind is Kind.TIME:
        return Treatment(guess.column, Action.REMOVE, "C", "a time of day: an element of dates")
    return None


def _by_text(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    """Sentences may name people: names are redacted."""
    del role
    if guess.text is None:
        return None
    return Treatment(guess.column, Action.REDACT, None, guess.text)


def _by_identifier(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    if not guess.role.names_people and guess.safe_harbor != "R":
        return None
    is_doubtful = not guess.role.names_people or guess.meaning == "unique code"
    if is_doubtful and guess.confidence != "high" and role is not None:
        return None  # a human has looked at it, and takes it for something else
    reason = guess.reason.partition("; ")[0]
    if not (guess.role.names_people or guess.may_identify):
        reason = (
            f"not recognized, and {guess.evidence['unique']:,} of {_count_present(guess):,} values occur "
            "once: taken for a code of its own"
        )
    return Treatment(guess.column, Action.REMOVE, guess.safe_harbor or "R", reason)


def _by_place(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    del role
    if guess.meaning == "postcode":
        reason = "ZIP codes: the first three digits stay"
        return Treatment(guess.column, Action.PREFIX, "B", reason)
    if guess.safe_harbor != "B":
        return None
    if guess.meaning == "region":
        reason = f"{guess.evidence['distinct']:,} regions are more than there are states"
    elif guess.meaning == "school or clinic":
        reason = "a school or clinic reveals where people live"
    else:
        reason = f"{guess.meaning}: smaller than a state"
    return Treatment(guess.column, Action.REMOVE, "B", reason)


def _by_employer(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    del role
    if guess.meaning != "employer" or guess.safe_harbor is None:
        return None
    return Treatment(guess.column, Action.REMOVE, "A", "names of employers are names as well")


def _by_time(guess: RoleGuess, role: ColumnRole | None) -> Treatment | None:
    del role
    if guess.meaning == "age":
        return Treatment(guess.column, Action.AGE, "C", "ages: 90 and more are one category")
    if guess.meaning == "age in months or days":
        reason = "ages finer than years reveal parts of the birth date"
        return Treatment(guess.column, Action.REMOVE, "C", reason)
    if guess.meaning in ("birth year", "year"):
        return Treatment(
            guess.column, Action.YEAR, "C", "years stay unless they reveal an age over 89"
        )
    if guess.meaning == "part of a date":
        return Treatment(guess.column, Action.REMOVE, "C", "a part of a date other than its year")
    if guess.safe_harbor == "C":
        return Treatment(guess.column, Action.YEAR, "C", "dates: the year stays")
    return None


def _by_uniqueness(guess: RoleGuess, role: ColumnRole | None) -> Treatment:
    """What is left stays; words of one's own are read first."""
    alone = guess.evidence["unique"] / _count_present(guess)
    if alone >= UNIQUE_SHARE and guess.evidence["kind"] is Kind.TEXT:
        reason = f"{guess.meaning or role}, in words of its own for many"
        return Treatment(guess.column, Action.REDACT, None, reason)
    about = guess.meaning or (f"{role} by the policy" if role else None)
    reason = f"in no class: {about}" if about else _UNRECOGNIZED
    return Treatment(guess.column, Action.KEEP, None, reason)


def _count_present(guess: RoleGuess) -> int:
    return max(guess.evidence["rows"] - guess.evidence["missing"], 1)


def _pattern_share(guess: RoleGuess, pattern: str) -> float:
    return guess.evidence["patterns"].get(pattern, 0) / _count_present(guess)


_RULES: tuple[Callable[[RoleGuess, ColumnRole | None], Treatment | None], ...] = (
    _by_kind,
    _by_text,
    _by_identifier,
    _by_place,
    _by_employer,
    _by_time,
)
