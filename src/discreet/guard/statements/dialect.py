"""PostgreSQL's grammar where sqlglot's has gaps that matter to clients: `oid[]`, `AS select`, keys of JSON."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

from discreet.sql.steps import BoundedParser

LONGEST_NAME = 63  # of a type, as in PostgreSQL
_AFTER_A_NAME = {TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN}


class ClientPostgres(Postgres):
    """PostgreSQL's SQL as clients of a server write it."""

    class Parser(BoundedParser, Postgres.Parser):
        """Parses drivers' catalog queries, in a bounded number of steps."""

        # A key is a text, also if it looks like a path: sqlglot would parse it as one.
        JSON_OPERATORS: ClassVar = {
            **Postgres.Parser.JSON_OPERATORS,
            TokenType.ARROW: lambda self, this, key: self.expression(
                exp.JSONExtract(this=this, expression=key, only_json_types=True)
            ),
            TokenType.DARROW: lambda self, this, key: self.expression(
                exp.JSONExtractScalar(this=this, expression=key, only_json_types=True)
            ),
        }

        def parse(self, raw_tokens: list[Token], sql: str = "") -> list[exp.Expr | None]:
            """Return trees; `select` is a name after AS or a dot, as Metabase writes it."""
            for place, (before, token) in enumerate(pairwise(raw_tokens), start=1):
                if token.token_type == TokenType.SELECT:
                    after = raw_tokens[place + 1 : place + 2]
                    ends = not after or after[0].token_type in _AFTER_A_NAME
                    is_label = before.token_type == TokenType.ALIAS and ends
                    if is_label or before.token_type == TokenType.DOT:
                        token.token_type = TokenType.VAR
            return super().parse(raw_tokens, sql)

        def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
            """Return a type, also an array of an identifier type such as `oid[]`."""
            is_quoted = self._curr.token_type == TokenType.IDENTIFIER
            if is_quoted and len(self._curr.text) > LONGEST_NAME:
                self.raise_error("A name is too long")  # sqlglot would parse it as SQL
            found = super()._parse_types(*args, **kwargs)
            if isinstance(found, exp.ObjectIdentifier) and self._match_pair(
                TokenType.L_BRACKET, TokenType.R_BRACKET
            ):
                kind = exp.to_identifier(str(found.this).lower())
                element = exp.DataType(this=exp.DType.USERDEFINED, kind=kind)
                return exp.DataType(this=exp.DType.ARRAY, expressions=[element], nested=True)
            return found
