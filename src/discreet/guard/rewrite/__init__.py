"""Rewriting: a statement of a subject becomes a tree with only permitted rows and columns."""

from discreet.guard.rewrite.authorize import (
    authorize_condition,
    authorize_query,
    authorize_write,
    relations_of,
)
from discreet.guard.rewrite.bind import bind_query, bind_write
from discreet.guard.rewrite.confirm import confirm_query
from discreet.guard.rewrite.parameters import infer_parameter_types
from discreet.guard.rewrite.permitted import (
    OnConflict,
    PermittedQuery,
    PermittedWrite,
    Source,
    TouchedRelation,
    plain_source,
)

__all__ = [
    "OnConflict",
    "PermittedQuery",
    "PermittedWrite",
    "Source",
    "TouchedRelation",
    "authorize_condition",
    "authorize_query",
    "authorize_write",
    "bind_query",
    "bind_write",
    "confirm_query",
    "infer_parameter_types",
    "plain_source",
    "relations_of",
]
