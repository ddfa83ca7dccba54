"""Scripts of psql as steps: statements, the data of a COPY, and the few commands that matter here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class ScriptStep:
    """A statement, with the lines of its COPY; or another `user` to connect as ("": the first)."""

    line: int
    sql: str = ""
    data: str | None = None
    gset: str | None = None  # the prefix of variables that the result's columns become
    user: str | None = None
    variable: tuple[str, str] | None = None


_TOKEN = re.compile(
    r"""
    (?P<line>--[^\n]*) | (?P<string>[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')
    | (?P<name>"(?:[^"]|"")*") | (?P<dollar>\$(?P<tag>[A-Za-z_]\w*|)\$) | (?P<block>/\*)
    | (?P<word>[A-Za-z_]\w*) | (?P<meta>\\) | (?P<end>;) | (?P<open>\() | (?P<close>\))
    """,
    re.VERBOSE | re.DOTALL,
)
_COPIES = re.compile(r"\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE | re.DOTALL)


class ScriptReader:
    """One script; `steps` yields what psql would send."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0

    def steps(self) -> Iterator[ScriptStep]:
        """Yield the steps in their order."""
        start, depth, atomic = 0, 0, 0
        while (found := _TOKEN.search(self._text, self._place)) is not None:
            self._place = found.end()
            kind = found.lastgroup
            if kind in ("open", "close"):
                depth += 1 if kind == "open" else -1
            elif kind == "word":
                atomic = self._inside_atomic(found, atomic)
            elif kind == "end" and depth <= 0 and not atomic:
                yield from self._statement(start, found.start())
                start, depth = self._place, 0
            elif kind == "meta" and not self._text.startswith("\\;", found.start()):
                yield from self._command(start, found.start())
                start, depth = self._place, 0
            else:
                self._skip(found)

    def _skip(self, found: re.Match[str]) -> None:
        """Go to the end of a comment or a text in dollars."""
        if found["dollar"]:
            close = self._text.find(found["dollar"], self._place)
            self._place = len(self._text) if close < 0 else close + len(found["dollar"])
        elif found["block"]:
            self._skip_comment()
        elif found["meta"]:
            self._place += 1

    def _inside_atomic(self, found: re.Match[str], atomic: int) -> int:
        word = found[0].lower()
        if word == "atomic" and self._text[: found.start()].rstrip().lower().endswith("begin"):
            return 1
        if atomic and word == "case":
            return atomic + 1
        return atomic - 1 if atomic and word == "end" else atomic

    def _skip_comment(self) -> None:
        depth = 1
        while depth and (found := re.compile(r"/\*|\*/").search(self._text, self._place)):
            depth += 1 if found[0] == "/*" else -1
            self._place = found.end()

    def _line_end(self, place: int) -> int:
        end = self._text.find("\n", place)
        return len(self._text) if end < 0 else end

    def _number(self, place: int) -> int:
        return self._text.count("\n", 0, place) + 1

    def _statement(self, start: int, end: int) -> Iterator[ScriptStep]:
        sql = self._text[start:end].strip()
        bare = re.sub(r"--[^\n]*|/\*.*?\*/", "", sql, flags=re.DOTALL).strip()
        if not bare:
            return
        data = None
        if _COPIES.match(bare):
            first = self._line_end(self._place) + 1
            stop = re.compile(r"^\\\.[ \t]*$", re.MULTILINE).search(self._text, first)
            data = self._text[first : stop.start() if stop else len(self._text)]
            self._place = stop.end() if stop else len(self._text)
        yield ScriptStep(
            self._number(start + len(self._text[start:end]) - len(self._text[start:end].lstrip())),
            sql,
            data,
        )

    def _command(self, start: int, place: int) -> Iterator[ScriptStep]:
        """Yield what a command of psql means here, and go to the end of its line."""
        sql, self._place = self._text[start:place].strip(), self._line_end(place)
        words, line = self._text[place : self._place].split(), self._number(place)
        if words[0] in ("\\gset", "\\g", "\\gx", "\\crosstabview") and sql:
            prefix = words[1] if len(words) > 1 else ""
            yield ScriptStep(line, sql, gset=prefix if words[0] == "\\gset" else None)
        elif words[0] in ("\\c", "\\connect"):
            user = words[2] if len(words) > 2 else ""
            yield ScriptStep(line, user="" if user == "-" else user.strip('"'))
        elif words[0] == "\\set" and len(words) > 2:
            value = " ".join(words[2:])
            yield ScriptStep(line, variable=(words[1], value.strip("'").replace("''", "'")))


_VARIABLE = re.compile(r"(?<![:\w]):(?P<quote>['\"]?)(?P<name>[A-Za-z_]\w*)(?P=quote)")


def with_variables(sql: str, variables: dict[str, str]) -> str:
    """Return a statement in which psql's variables stand for their values."""

    def value(found: re.Match[str]) -> str:
        known = variables.get(found["name"])
        if known is None:
            return found[0]
        quote = found["quote"]
        return f"{quote}{known.replace(quote, quote * 2)}{quote}" if quote else known

    return _VARIABLE.sub(value, sql)
