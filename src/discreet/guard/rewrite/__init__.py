"""A statement and who sends it in, a tree that may run out: only permitted rows and columns are in it."""

from discreet.guard.rewrite.authorize import (
    authorize_condition,
    authorize_query,
    authorize_write,
    relations_of,
)
from discreet.guard.rewrite.bind import bind, bind_write
from discreet.guard.rewrite.confirm import confirm
from discreet.guard.rewrite.parameters import parameter_types
from discreet.guard.rewrite.permitted import (
    OnConflict,
    PermittedQuery,
    PermittedWrite,
    Source,
    Touched,
)
from discreet.guard.rewrite.source import plain_source

__all__ = [
    "OnConflict",
    "PermittedQuery",
    "PermittedWrite",
    "Source",
    "Touched",
    "authorize_condition",
    "authorize_query",
    "authorize_write",
    "bind",
    "bind_write",
    "confirm",
    "parameter_types",
    "plain_source",
    "relations_of",
]
