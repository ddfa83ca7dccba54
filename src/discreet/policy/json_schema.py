"""The JSON Schema of policy files, so that editors complete and check them."""

from __future__ import annotations

from typing import Any

from discreet.policy.attack_tolerance import DEFAULT
from discreet.policy.domain import DATE_PATTERN, ORIGINS
from discreet.policy.schema import WrittenPolicy
from discreet.registry import ATTACKS


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a policy file, for editors.

    >>> sorted(policy_schema()["properties"])
    ['budget', 'id', 'tables', 'workloads']
    """
    schema = _without_null(WrittenPolicy.model_json_schema(by_alias=True))
    definitions = schema["$defs"]
    hierarchy = definitions["WrittenHierarchy"]["properties"]
    hierarchy["tree"] |= _TREE
    hierarchy["cuts"]["items"] = {"anyOf": [_NUMBER, {"type": "array", "items": _NUMBER}]}
    table = definitions["WrittenTable"]["properties"]
    column = definitions["WrittenUnit"]["properties"]["column"]
    table["unit"] = {
        "anyOf": [column, {"$ref": table["unit"].pop("$ref")}],
        "description": table["unit"]["description"],
    }
    tolerance = table["tolerance"]
    share, names = tolerance["additionalProperties"], {"enum": [*ATTACKS, DEFAULT]}
    table["tolerance"] = {
        "anyOf": [share, {"type": "object", "propertyNames": names, "additionalProperties": share}],
        "description": tolerance["description"],
    }
    ends = {"anyOf": [_NUMBER, {"type": "string", "pattern": DATE_PATTERN}]}
    definitions["WrittenColumn"]["properties"]["bounds"]["prefixItems"] = [ends, ends]
    _add_origins(definitions["WrittenColumn"]["properties"])
    columns = table["columns"]
    role = definitions["WrittenColumn"]["properties"]["role"]
    columns["additionalProperties"] = {"anyOf": [role, columns["additionalProperties"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "discreet policy",
        "$defs": {**definitions, "TreeGroup": {"anyOf": [_LEAVES, _TREE]}},
    }


def _add_origins(column: dict[str, Any]) -> None:
    """Allow bounds and values under the word that names their origin."""
    for key, words in (("bounds", [{"const": "private"}]), ("values", [])):
        description = column[key].pop("description")
        plain = column[key]
        named = {
            "type": "object",
            "properties": dict.fromkeys(ORIGINS, plain),
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }
        column[key] = {"anyOf": [plain, named, *words], "description": description}


_NUMBER: dict[str, Any] = {"type": "number"}
_TREE: dict[str, Any] = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"$ref": "#/$defs/TreeGroup"},
}
_LEAVES: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {"anyOf": [{"type": ["string", "number", "boolean"]}, _TREE]},
}


def _without_null(schema: Any) -> Any:
    """Return `schema` without the null that pydantic allows where a key may be left out."""
    if isinstance(schema, list):
        return [_without_null(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _without_null(item) for key, item in schema.items() if (key, item) != _NO_DEFAULT}
    choices = kept.get("anyOf", [])
    if {"type": "null"} not in choices:
        return kept
    choices = [item for item in choices if item != {"type": "null"}]
    choice = choices[0] if len(choices) == 1 else {"anyOf": choices}
    return {**choice, **{key: item for key, item in kept.items() if key != "anyOf"}}


_NO_DEFAULT = ("default", None)
