"""Parameters such as `$1`, separated so that no tokenizer takes `$1,$2` for a dollar quote."""

from __future__ import annotations

import re

# A parameter that something other than a blank follows, and another dollar somewhere behind.
_CLOSE = re.compile(r"\$\d+[^\s\d][^$]*\$", re.ASCII)
# What hides a dollar: texts, names, comments, dollar quotes.
_LEXEME = re.compile(
    r"(?P<escaping>[eE]')|(?P<text>')|(?P<name>\")|(?P<line>--)|(?P<block>/\*)"
    r"|(?P<dollar>\$(?:[^\W\d]\w*)?\$)|(?P<parameter>\$[0-9]+(?=[^\s0-9]))|(?P<word>[^\W\d][\w$]*)"
)
_ENDS = {
    "escaping": re.compile(r"(?:[^'\\]|\\.|'')*+'", re.DOTALL),
    "text": re.compile(r"(?:[^']|'')*+'"),
    "name": re.compile(r'(?:[^"]|"")*+"'),
    "line": re.compile(r"[^\n\r]*"),
}
_NESTED = re.compile(r"/\*|\*/")


def set_apart(text: str) -> str:
    """Return a text with a blank after every parameter; quoted parts stay as they are.

    >>> set_apart("VALUES ($1,$2,'$1,$2')")
    "VALUES ($1 ,$2 ,'$1,$2')"
    """
    if not _CLOSE.search(text):
        return text
    parts: list[str] = []
    done = at = 0
    while found := _LEXEME.search(text, at):
        at = _lexeme_end(text, found)
        if found.lastgroup == "parameter":
            parts += (text[done:at], " ")
            done = at
    return "".join((*parts, text[done:]))


def _lexeme_end(text: str, found: re.Match[str]) -> int:
    """Return the end of a lexeme; an unclosed one is refused later, and ends with the text."""
    kind, at = found.lastgroup or "", found.end()
    if kind in _ENDS:
        rest = _ENDS[kind].match(text, at)
        return rest.end() if rest else len(text)
    if kind == "dollar":
        closing = text.find(found.group(), at)
        return closing + len(found.group()) if closing >= 0 else len(text)
    if kind != "block":
        return at
    depth = 1
    for mark in _NESTED.finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)
