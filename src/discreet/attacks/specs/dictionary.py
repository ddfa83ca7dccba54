"""The attack dictionary: hashed identifiers inverted by guessing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding
    from discreet.attacks.hashes.candidates import Guesses

DESCRIPTION = """Invert hashed identifiers in TABLE by hashing what they may stand for.

A hash cannot be run backwards, but anyone can run it forwards on every possible value. Without
--column every column that looks like a hash, an encoding or a counted number is found and tried
with the values of the other columns, of --known tables, numbers and dates.
"""


def _run(given: AttackInput, *, known: Sequence[object], **options: Any) -> Sequence[Finding]:
    from discreet.attacks.hashes import dictionary

    people = [given.open_other(each) for each in known]
    people += [given.known] if given.known is not None else []
    guesses = _read_guesses(given, options["pattern"], options["candidates"])
    tools = dictionary.DictionaryOptions(
        hash_name=options["hash"],
        salt=options["salt"],
        vary=options["vary"] or (),
        limit=options["limit"],
        clock=given.clock,
    )
    column = options["column"]
    if column is None:
        return dictionary.attack_table(given.table, known=people, guesses=guesses, tools=tools)
    if people or not guesses:  # else only what the user names is tried
        usual = dictionary.usual_guesses(given.table, known=people, skip=(column,))
        guesses = (*guesses, *usual)
    return [dictionary.attack_column(given.table, column, guesses, tools=tools)]


def _read_guesses(
    given: AttackInput, patterns: Sequence[str], lists: Sequence[object]
) -> tuple[Guesses, ...]:
    from discreet.attacks.hashes import candidates
    from discreet.attacks.hashes.patterns import read_guess_pattern

    formed = [candidates.from_pattern(read_guess_pattern(text)) for text in patterns]
    tables = [given.open_other(each) for each in lists]
    return (*formed, *(each for table in tables for each in candidates.from_table(table)))


SPEC = AttackSpec(
    name="dictionary",
    summary="hashed identifiers inverted by guessing",
    description=DESCRIPTION,
    target="table",
    argument="TABLE",
    options=(
        OptionSpec(
            "column",
            "text",
            "The hashed column. Default: all that look like hashes.",
            metavar="COLUMN",
        ),
        OptionSpec(
            "hash",
            "text",
            "md5, sha1, sha256 … Default: found by its length and by trying.",
            metavar="NAME",
        ),
        OptionSpec(
            "pattern",
            "text",
            "What the values look like; every text that fits is tried. May be repeated.",
            repeated=True,
            metavar="PATTERN",
        ),
        OptionSpec(
            "candidates",
            "source",
            "A table whose values are tried, such as a list of e-mail addresses. May be repeated.",
            repeated=True,
        ),
        OptionSpec(
            "known",
            "source",
            "A table the adversary has: its values, and texts of the same form, are tried. May be "
            "repeated.",
            repeated=True,
        ),
        OptionSpec(
            "salt",
            "text",
            "A public salt, tried before and after the text.",
            metavar="TEXT",
        ),
        OptionSpec(
            "vary",
            "names",
            "Also try texts in capitals or small letters, with a line's end, in UTF-16.",
            metavar="case,newline,encoding",
        ),
        OptionSpec(
            "limit",
            "integer",
            "Refuse to try more guesses than this.",
            default=200_000_000,
            minimum=1,
        ),
    ),
    run=_run,
    run_all=True,
    # A pseudonym that is inverted names its person.
    tolerance=0.0,
    examples=(
        "discreet attack dictionary rides.csv",
        r"""discreet attack dictionary rides.csv --column medallion \
    --pattern '[0-9][A-Z][0-9]{2}' --pattern '[A-Z]{2,3}[0-9]{3}'""",
        "discreet attack dictionary rides.csv --column license --hash md5 --pattern '[0-9]{6,7}'",
        "discreet attack dictionary patients.csv --known voters.csv",
        "discreet attack dictionary orders.csv --column user --candidates emails.csv --salt 2019",
    ),
    notes=r"""A pattern has letters as they are, classes ([A-Z0-9], \d), repeats ({2}, {6,7}, ?) and choices
((a|b)).""",
    position=110,
)
