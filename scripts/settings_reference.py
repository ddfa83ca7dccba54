"""Writes docs/reference/settings.md from the model of a server's settings: `make reference`."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from pathlib import Path

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from discreet.server.settings import Settings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
INTRODUCTION = """\
# Settings of a server

What `server.yaml` in the folder of [`discreet serve`](serve.md#settings) may hold. This page is made from the settings themselves by
`make reference`. Unknown names and values that make no sense are refused, all of them at once; options of the command win. Relative
paths are relative to the folder where the server is started, those of witnesses to its own.
"""
TITLES = {"ldap": "LDAP", "oidc": "OIDC", "log": "Logs", "keys": "Keys"}
NAMES = {str: "text", int: "number", float: "number", bool: "yes or no", Path: "file"}
BOUNDS = {annotated_types.Ge: "≥ ", annotated_types.Gt: "> ", annotated_types.Le: "≤ "}


def write_settings_page() -> str:
    """Return the page."""
    parts = [INTRODUCTION, *_list_section("", Settings)]
    for name, field in Settings.model_fields.items():
        if (part := _part_of(field)) is not None:
            parts += [f"## {TITLES.get(name, name.title())}\n", *_list_section(name, part)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _list_section(name: str, model: type[BaseModel]) -> Iterator[str]:
    if name:
        yield f"Below `{name}`: {_lower_first(model.__doc__ or '')}\n"
    yield "| setting | values | default | meaning |\n|---|---|---|---|"
    for key, field in model.model_fields.items():
        if key == "data" or _part_of(field) is not None:
            continue
        yield f"| `{key}` | {_describe_values(field)} | {_describe_default(field)} | {field.description} |"
    yield ""


def _part_of(field: FieldInfo) -> type[BaseModel] | None:
    """Return the model of settings that are below a name of their own."""
    kinds = [field.annotation, *typing.get_args(field.annotation)]
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)


def _describe_values(field: FieldInfo) -> str:
    kinds = typing.get_args(field.annotation) or (field.annotation,)
    if typing.get_origin(field.annotation) is typing.Literal:
        return ", ".join(f"`{value}`" for value in kinds)
    origin = typing.get_origin(field.annotation)
    if origin in (tuple, list):
        return "list of files" if kinds[0] is Path else "list"
    if origin is dict:
        return "names and values"
    plain = next(kind for kind in kinds if kind is not types.NoneType)
    plain = getattr(plain, "__origin__", plain)  # without what only validates it
    bounds = [
        sign + f"{_bound_of(item):,}"
        for item in field.metadata
        for kind, sign in BOUNDS.items()
        if isinstance(item, kind)
    ]
    return " ".join([NAMES[plain], *bounds])


def _bound_of(item: object) -> float:
    return next(getattr(item, name) for name in ("ge", "gt", "le") if hasattr(item, name))


def _describe_default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "must be given"
    if value in (None, (), {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) and value > 9999 else f"`{value}`"


def _lower_first(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


if __name__ == "__main__":
    PAGE.write_text(write_settings_page(), "utf-8")
