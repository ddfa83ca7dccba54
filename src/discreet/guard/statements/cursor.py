"""A text as words, and a cursor that parses them and reports where it stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

from discreet.errors import StatementFailed
from discreet.guard.statements.statement import Written
from discreet.sql.names import fold_name

T = TypeVar("T")


DATABASE = "discreet"  # the name of the served database, unless the session has another one
Kind = Literal["word", "name", "string", "number", "symbol", "end"]

# PostgreSQL's reserved words: none of them is a name unless it is quoted.
RESERVED = frozenset(
    {
        "all",
        "analyse",
        "analyze",
        "and",
        "any",
        "array",
        "as",
        "asc",
        "asymmetric",
        "both",
        "case",
        "cast",
        "check",
        "collate",
        "column",
        "constraint",
        "create",
        "current_catalog",
        "current_date",
        "current_role",
        "current_time",
        "current_timestamp",
        "current_user",
        "default",
        "deferrable",
        "desc",
        "distinct",
        "do",
        "else",
        "end",
        "except",
        "false",
        "fetch",
        "for",
        "foreign",
        "from",
        "grant",
        "group",
        "having",
        "in",
        "initially",
        "intersect",
        "into",
        "lateral",
        "leading",
        "limit",
        "localtime",
        "localtimestamp",
        "not",
        "null",
        "offset",
        "on",
        "only",
        "or",
        "order",
        "placing",
        "primary",
        "references",
        "returning",
        "select",
        "session_user",
        "some",
        "symmetric",
        "system_user",
        "table",
        "then",
        "to",
        "trailing",
        "true",
        "union",
        "unique",
        "user",
        "using",
        "variadic",
        "when",
        "where",
        "window",
        "with",
    }
)


@dataclass(frozen=True)
class Lexeme:
    """A piece of a text; `text` is folded when it is an unquoted word."""

    kind: Kind
    text: str
    start: int
    end: int  # after the last character


def words_of(text: str) -> list[Lexeme]:
    """Return the words of a text, by PostgreSQL's rules, without a closing semicolon.

    Raises:
        StatementFailed: 42601, a quote is not closed, or two statements are given.
    """
    from discreet.guard.statements.split import tokenize

    words: list[Lexeme] = []
    for token in tokenize(text):
        words.extend(
            _make_lexemes(token.token_type.name, token.text, text, token.start, token.end + 1)
        )
    while words and words[-1].text == ";" and words[-1].kind == "symbol":
        words.pop()
    if any(word.text == ";" and word.kind == "symbol" for word in words):
        raise StatementFailed("42601", "cannot read more than one statement at once")
    return words


_STRINGS = {"STRING", "HEREDOC_STRING", "BYTE_STRING", "UNICODE_STRING", "NATIONAL_STRING"}


def _make_lexemes(kind: str, value: str, text: str, start: int, end: int) -> list[Lexeme]:
    written = text[start:end]
    if kind == "IDENTIFIER":
        return [Lexeme("name", value, start, end)]
    if kind in _STRINGS:
        return [Lexeme("string", value, start, end)]
    if kind == "NUMBER":
        return [Lexeme("number", written, start, end)]
    if written[:1].isalpha() or written[:1] == "_":
        parts = written.split()  # such as PRIMARY KEY, which is one token there
        return [Lexeme("word", fold_name(part), start, end) for part in parts]
    return [Lexeme("symbol", written, start, end)]


class StatementCursor:
    """A position in the words of one statement."""

    def __init__(self, text: str, words: list[Lexeme]) -> None:
        self.text = text
        self.words = words
        self.place = 0

    @property
    def word(self) -> Lexeme:
        """The word at the cursor."""
        if self.place < len(self.words):
            return self.words[self.place]
        return Lexeme("end", "end of input", len(self.text), len(self.text))

    def at(self, *expected: str) -> bool:
        """Whether these words or symbols come next; quoted ones are not words."""
        ahead = self.words[self.place : self.place + len(expected)]
        return len(ahead) == len(expected) and all(
            word.kind in ("word", "symbol") and word.text == text
            for word, text in zip(ahead, expected, strict=True)
        )

    def at_any(self, *expected: str) -> bool:
        """Whether one of these words comes next."""
        return any(self.at(text) for text in expected)

    def take(self, *expected: str) -> bool:
        """Skip these words if they come next, and return whether they did."""
        if not self.at(*expected):
            return False
        self.place += len(expected)
        return True

    def need(self, *expected: str) -> None:
        """Skip these words, or fail where they end."""
        for text in expected:
            if not self.take(text):
                raise self.unexpected()

    def choose(self, *choices: str) -> str:
        """Skip one of these words and return it."""
        for choice in choices:
            if self.take(choice):
                return choice
        raise self.unexpected()

    def unexpected(self) -> StatementFailed:
        """Return the syntax error at this position."""
        word = self.word
        if word.kind == "end":
            return StatementFailed("42601", "syntax error at end of input")
        shown = self.text[word.start : word.end]
        return StatementFailed("42601", f'syntax error at or near "{shown}"')

    def end(self) -> None:
        """Fail unless everything was parsed."""
        if self.word.kind != "end":
            raise self.unexpected()

    def step(self) -> Lexeme:
        """Skip one word, whatever it is."""
        word = self.word
        if word.kind == "end":
            raise self.unexpected()
        self.place += 1
        return word

    def name(self) -> str:
        """Skip a name and return it, folded."""
        word = self.word
        if word.kind == "name" and not word.text:
            raise StatementFailed("42601", "zero-length delimited identifier")
        if word.kind == "name" or (word.kind == "word" and word.text not in RESERVED):
            return self.step().text
        raise self.unexpected()

    def relation(self) -> Written:
        """Skip a name that may have a schema."""
        first = self.name()
        if not self.take("."):
            return None, first
        second = self.name()
        if first == DATABASE and self.take("."):
            return second, self.name()
        if self.at("."):
            raise StatementFailed(
                "0A000",
                "cross-database references are not implemented",
                hint="Write schema.table.",
            )
        return first, second

    def string(self) -> str:
        """Skip a quoted text and return its value."""
        if self.word.kind != "string":
            raise self.unexpected()
        return self.step().text

    def number(self) -> str:
        """Skip a number, which may have a sign, and return it as written."""
        sign = "-" if self.take("-") else ""
        if self.word.kind != "number":
            raise self.unexpected()
        return sign + self.step().text

    def listed(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Return the results of `read` between commas."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return tuple(found)

    def in_parentheses(self, read: Callable[[], T]) -> tuple[T, ...]:
        """Return the results of `read` between commas in parentheses."""
        self.need("(")
        found = self.listed(read)
        self.need(")")
        return found

    def enclosed(self) -> str:
        """Skip a pair of parentheses and return the text between them."""
        if not self.at("("):
            raise self.unexpected()
        start = self.word.end
        self.place = self.closing() + 1
        return self.text[start : self.words[self.place - 1].start]

    def closing(self) -> int:
        """Return which word closes the parenthesis at the cursor."""
        depth = 0
        for index in range(self.place, len(self.words)):
            word = self.words[index]
            if word.kind != "symbol":
                continue
            depth += (word.text in ("(", "[")) - (word.text in (")", "]"))
            if depth == 0:
                return index
        raise StatementFailed("42601", "syntax error at end of input")

    def text_until(self, stop: Callable[[], bool]) -> str:
        """Skip to where `stop` holds outside parentheses, or to the end, and return the skipped text."""
        start = self.word.start
        end = start
        while self.word.kind != "end" and not stop():
            if self.at("(") or self.at("["):
                self.place = self.closing()
            end = self.step().end
        return self.text[start:end]
