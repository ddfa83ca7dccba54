"""CREATE VIEW, plain and anonymized."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import query_tree
from discreet.guard.statements.objects import AlterViewOptions, CreateView
from discreet.guard.statements.statement import Statement, Written

_SECURITY = ("security_barrier", "security_invoker")
_BEGINNINGS = ("select", "with", "values", "table", "(")


def parse_create_view(cursor: StatementCursor, *, replace: bool, anonymized: bool) -> Statement:
    """CREATE VIEW name [(columns)] [WITH (options)] AS query [WITH (options)]."""
    relation = cursor.relation()
    columns = cursor.in_parentheses(cursor.name) if cursor.at("(") else ()
    options = parse_options(cursor) if cursor.at("with", "(") else {}
    if not cursor.take("as") and not cursor.at_any(*_BEGINNINGS):  # the seed leaves AS out
        raise cursor.unexpected()
    text = cursor.text_until(lambda: _ends_query(cursor))
    if cursor.at("with", "("):
        for name, value in parse_options(cursor).items():
            if name in options:
                raise StatementFailed("42601", "conflicting or redundant options")
            options[name] = value
    elif cursor.take("with"):
        if "check_option" in options:
            raise StatementFailed("42601", 'parameter "check_option" specified more than once')
        options["check_option"] = _parse_check_option(cursor)
    invoker = switch(options, "security_invoker", default=False)
    if not switch(options, "security_barrier", default=True):
        raise StatementFailed("0A000", "every view is a security barrier: leave the option out")
    _refuse_misplaced(options, invoker=invoker, anonymized=anonymized)
    return CreateView(relation, query_tree(text), columns, replace, invoker, anonymized, options)


def _parse_check_option(cursor: StatementCursor) -> str:
    """[LOCAL | CASCADED] CHECK OPTION."""
    option = "local" if cursor.take("local") else "cascaded"
    if option == "cascaded":
        cursor.take("cascaded")
    cursor.need("check", "option")
    return option


def parse_alter_options(
    cursor: StatementCursor, relation: Written, *, if_exists: bool
) -> Statement:
    """ALTER VIEW name SET (name = value, …) | RESET (name, …)."""
    if cursor.take("reset"):
        names = cursor.in_parentheses(cursor.name)
        return AlterViewOptions(relation, dict.fromkeys(names), if_exists)
    cursor.need("set")
    given = dict(cursor.in_parentheses(lambda: _parse_option(cursor)))
    if not switch(dict(given), "security_barrier", default=True):
        raise StatementFailed("0A000", "every view is a security barrier")
    return AlterViewOptions(relation, dict(given), if_exists)


def _ends_query(cursor: StatementCursor) -> bool:
    return cursor.at("with", "(") or any(
        cursor.at("with", *words)
        for words in (("check", "option"), ("local", "check"), ("cascaded", "check"))
    )


def _refuse_misplaced(options: dict[str, str], *, invoker: bool, anonymized: bool) -> None:
    if anonymized and invoker:
        raise StatementFailed(
            "0A000", "an anonymized view reads with its owner's rights: leave security_invoker out"
        )
    if anonymized:
        return
    check_view_options(options)


def check_view_options(options: Mapping[str, str | None]) -> None:
    """Refuse options that a view does not have."""
    option = options.get("check_option")
    if option is not None and option.lower() not in ("local", "cascaded"):
        raise StatementFailed("22023", f'invalid value for enum option "check_option": {option}')
    unknown = [name for name in options if name not in ("check_option", *_SECURITY)]
    if unknown:
        raise StatementFailed(
            "22023",
            f'unrecognized parameter "{unknown[0]}"',
            hint="Write CREATE ANONYMIZED VIEW for options such as k.",
        )


def switch(options: dict[str, str], name: str, *, default: bool) -> bool:
    """Remove an option that is on or off from `options` and return it."""
    value = options.pop(name, str(default)).lower()
    if value in ("true", "on", "yes", "1"):
        return True
    if value in ("false", "off", "no", "0"):
        return False
    raise StatementFailed("22023", f'invalid value for boolean option "{name}"')


def parse_options(cursor: StatementCursor) -> dict[str, str]:
    """WITH (name = value, …)."""
    cursor.need("with")
    options: dict[str, str] = {}
    for name, value in cursor.in_parentheses(lambda: _parse_option(cursor)):
        if name in options:
            raise StatementFailed("42601", "conflicting or redundant options")
        options[name] = value
    return options


def _parse_option(cursor: StatementCursor) -> tuple[str, str]:
    name = cursor.step()
    if name.kind not in ("word", "name"):
        cursor.place -= 1
        raise cursor.unexpected()
    if not cursor.take("="):
        return name.text, "true"
    if cursor.at("("):
        return name.text, cursor.enclosed().strip()
    if cursor.word.kind == "number" or cursor.at("-"):
        return name.text, cursor.number()
    value = cursor.step()
    if value.kind == "symbol":
        cursor.place -= 1
        raise cursor.unexpected()
    return name.text, value.text
