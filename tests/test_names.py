"""Names that a reader can trust: one meaning each, whole words, verbs for what is done."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "discreet"
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)

# A private function may be one word where every reader takes that word for the same verb.
PLAIN_VERBS = frozenset(
    re.findall(
        r"\w+",
        """
    add append apply bind build call check close commit compare compute connect convert copy
    count create decide decode delete draw drop encode estimate execute fetch find fit format
    generate get group insert join list load lock make match measure merge move open pack
    parse plan prepare print query quote raise read record refuse release remove rename render
    replace require reserve reset resolve restore revoke rewrite round run sample scan score
    search select send serve set sign simplify solve sort split start stop store sum test
    translate unpack update validate verify walk wrap write
        """,
    )
)
PARTICIPLE = re.compile(
    r"^(?!need|seed|feed|exceed|proceed)[a-z]+(ed|en|ten|ought|old|aid|ept|own|ing)$"
)

# Names that break a rule on purpose, and why.
SHARED_FUNCTIONS = {
    "command": "each verb of the command line is the `command` of its module, loaded by the verb's name",
    "count": "protocol of dp.local: every scheme of local randomization",
    "perturb": "protocol of dp.local: every scheme of local randomization",
    "support": "protocol of dp.local: every scheme of local randomization",
    "table": "sql.build names a table; `discreet epsilon table` is named by its function",
}
PARTICIPLES = {
    "accept": "a verb: `discreet key accept`",
    "token": "a noun: `discreet user token`",
    "ordered": "a measure of t-closeness, looked up by its name in the policy",
}
ONE_WORD = {"_advance": "overrides the method of sqlglot's parser"}


@cache
def parse_package() -> dict[Path, ast.Module]:
    """Return the tree of every module, parsed by the first test that asks."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def place(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_a_class_name_exists_once():
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in parse_package().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(place(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_no_two_modules_export_different_functions_of_one_name():
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in parse_package().items():
        for node in tree.body:
            if isinstance(node, FUNCTION) and not node.name.startswith("_"):
                places[node.name].append(place(path))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if name not in SHARED_FUNCTIONS} == {}


def test_no_function_of_a_module_is_a_bare_participle():
    found = [
        f"{place(path)}: {node.name}"
        for path, tree in parse_package().items()
        for node in tree.body
        if isinstance(node, FUNCTION)
        and PARTICIPLE.match(node.name.lstrip("_"))
        and node.name not in PARTICIPLES
    ]
    assert found == []


def test_a_private_function_says_what_it_does_or_returns():
    found = [
        f"{place(path)}: {node.name}"
        for path, tree in parse_package().items()
        for node in ast.walk(tree)
        if isinstance(node, FUNCTION) and is_one_word(node.name) and node.name not in ONE_WORD
    ]
    assert found == []


def is_one_word(name: str) -> bool:
    """Whether a private name is one word that is no plain verb."""
    bare = name.lstrip("_")
    is_private = name.startswith("_") and not name.startswith("__")
    return is_private and "_" not in bare and bare not in PLAIN_VERBS


ROOT = PACKAGE.parents[1]
# Words of an earlier vocabulary: say reported, released or revealed; no one; anyone who; unexpected.
BANNED = re.compile(
    r"\b(told|nobody|whoever|foresaw|foreseen|unforeseen|somebody)\b", re.IGNORECASE
)
PROSE = (".py", ".md", ".j2", ".sql")
# Places that may use them, and why.
OLD_WORDS = {
    "docs/guard/authentication.md": "shows a login as the user `nobody`",
    "src/discreet/measure/text/names.py": "words of medical notes beside a name",
}


def test_prose_has_no_word_of_the_old_vocabulary():
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*"), *PACKAGE.rglob("*")]
    named = {str(path.relative_to(ROOT)): path for path in files if path.suffix in PROSE}
    found = [
        f"{name}: {match[0]}"
        for name, path in named.items()
        if not name.startswith(tuple(OLD_WORDS))
        for match in BANNED.finditer(path.read_text("utf-8"))
    ]
    assert found == []
