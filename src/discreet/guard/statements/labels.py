"""SECURITY LABEL and DECLASSIFY."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.statements.cursor import StatementCursor
from discreet.guard.statements.fragments import expression_tree
from discreet.guard.statements.objects import Declassify, SecurityLabel
from discreet.guard.statements.roles import parse_role_name
from discreet.guard.statements.statement import Statement


def parse_security_label(cursor: StatementCursor) -> Statement:
    """SECURITY LABEL [FOR mls] ON DATABASE [name] | ROLE name | TABLE name IS 'label' | NULL."""
    cursor.need("security", "label")
    if cursor.take("for"):
        provider = cursor.string() if cursor.word.kind == "string" else cursor.name()
        if provider != "mls":
            raise StatementFailed(
                "22023",
                f'security label provider "{provider}" is not loaded',
                hint="Write FOR mls.",
            )
    cursor.need("on")
    if cursor.take("database"):
        if not cursor.at("is"):
            cursor.name()
        return SecurityLabel("database", None, None, _parse_label(cursor))
    if cursor.take("role"):
        return SecurityLabel("role", parse_role_name(cursor), None, _parse_label(cursor))
    if cursor.take("table"):
        return SecurityLabel("table", None, cursor.relation(), _parse_label(cursor))
    if cursor.word.kind == "word":
        raise StatementFailed(
            "0A000",
            "labels are on DATABASE, ROLE or TABLE only",
            hint="A table labeled 'cells' has one on every cell.",
        )
    raise cursor.unexpected()


def _parse_label(cursor: StatementCursor) -> str | None:
    cursor.need("is")
    return None if cursor.take("null") else cursor.string()


def parse_declassify(cursor: StatementCursor) -> Statement:
    """DECLASSIFY column ON table FROM 'label' TO 'label' [WHERE condition]."""
    cursor.need("declassify")
    column = cursor.name()
    cursor.need("on")
    relation = cursor.relation()
    cursor.need("from")
    source = cursor.string()
    cursor.need("to")
    target = cursor.string()
    condition = None
    if cursor.take("where"):
        condition = expression_tree(cursor.text_until(lambda: False))
    return Declassify(relation, column, source, target, condition)
