"""Writes docs/reference/python.md from the docstrings of the public names: `make reference`."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import discreet

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
INTRODUCTION = """\
# Python

`import discreet` has what the command line does. Options of a verb are keyword arguments of its function, under the same names. This page
is made from docstrings by `make reference`; its examples run in the folder of the [demo](demo.md).

Errors are subclasses of `discreet.errors.DiscreetError`, each with a [stable code](errors.md). `discreet.__version__` is the version.
"""
EXAMPLES = """\
```python
>>> import discreet
>>> from pathlib import Path

```
"""
# What an example calls by its name in its own module, and the public name of the same.
PUBLIC = {
    **{name: f"discreet.policy.{name}" for name in discreet.policy.__all__},
    **{name: f"discreet.{name}" for name in {*discreet.__all__} - {"epsilon", "errors", "policy"}},
    "open_curator": "discreet.open",
}
LONGEST_LINE = 100
EPSILON = {name: f"discreet.epsilon.{name}" for name in discreet.epsilon.__all__}
SECTION = re.compile(r"^(Args|Raises|Attributes):$", re.MULTILINE)
# Methods that other parts of the package call, and that are no part of the interface.
INTERNAL = {
    *("explain_plan", "leave", "measure", "plan", "shape", "shape_all", "with_budget"),
    "with_rows",
}


def write_page() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, EXAMPLES, *_list_parts()]).rstrip("\n") + "\n"


def _list_parts() -> Iterator[str]:
    public = {name: getattr(discreet, name) for name in discreet.__all__ if name != "__version__"}
    functions = {name: value for name, value in public.items() if _is_function(value)}
    classes = {name: value for name, value in public.items() if inspect.isclass(value)}
    yield "## Functions\n"
    for name in sorted(functions):
        yield from _describe_function(f"discreet.{name}", inspect.unwrap(functions[name]))
    yield "## Classes\n"
    for name in sorted(classes):
        yield from _describe_class(f"discreet.{name}", classes[name])
    for name in sorted(public.keys() - functions.keys() - classes.keys() - {"errors"}):
        yield from _describe_module(f"discreet.{name}", public[name])


def _is_function(value: object) -> bool:
    return callable(value) and not inspect.isclass(value)


def _describe_module(name: str, module: ModuleType) -> Iterator[str]:
    yield f"## {name}\n"
    yield _plain_text(inspect.getdoc(module) or "") + "\n"
    members = {item: getattr(module, item) for item in module.__all__}
    for item in sorted(item for item, value in members.items() if not inspect.isclass(value)):
        yield from _describe_function(f"{name}.{item}", members[item])
    classes = [value for _, value in sorted(members.items()) if inspect.isclass(value)]
    if classes:
        yield "| class | fields | meaning |\n|---|---|---|"
        for kind in classes:
            line = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
            yield f"| `{kind.__name__}` | {_list_fields(kind)} | {_table_text(line)} |"
        yield ""


def _describe_class(name: str, kind: type) -> Iterator[str]:
    yield f"### {name}\n"
    yield from _describe_text(kind)
    if dataclasses.is_dataclass(kind):
        yield f"Fields: {_list_fields(kind)}.\n"
    members = {
        item: value
        for item, value in inspect.getmembers_static(kind)
        if not item.startswith("_") and item not in INTERNAL and inspect.getdoc(value)
    }
    methods = {item: value for item, value in members.items() if inspect.isfunction(value)}
    properties = {item: value for item, value in members.items() if isinstance(value, property)}
    for item, value in properties.items():
        yield f"- `{item}`: {_plain_text(inspect.getdoc(value) or '')}"
    if properties:
        yield ""
    for item, value in methods.items():
        yield from _describe_function(f"{kind.__name__}.{item}", value, level=4)


def _list_fields(kind: type) -> str:
    if not dataclasses.is_dataclass(kind):
        return ", ".join(f"`{item}`" for item in getattr(kind, "__members__", ()))
    fields = [item.name for item in dataclasses.fields(kind) if not item.name.startswith("_")]
    return ", ".join(f"`{item}`" for item in fields if item != "line")


def _describe_function(name: str, function: Callable[..., Any], *, level: int = 3) -> Iterator[str]:
    yield f"{'#' * level} {name}\n"
    yield f"```text\n{_format_signature(name, function)}\n```\n"
    yield from _describe_text(function)


def _format_signature(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    listed: list[str] = []
    for item in signature.parameters.values():
        if item.name == "self":
            continue
        if item.kind is item.KEYWORD_ONLY and not any(text.startswith("*") for text in listed):
            listed.append("*")
        listed.append(_format_parameter(item))
    returned = f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(listed)}){returned}"
    if len(line) <= LONGEST_LINE:
        return line
    inner = "".join(f"    {text},\n" for text in listed)
    return f"{name}(\n{inner}){returned}"


def _format_parameter(item: inspect.Parameter) -> str:
    stars = {item.VAR_POSITIONAL: "*", item.VAR_KEYWORD: "**"}.get(item.kind, "")
    text = f"{stars}{item.name}: {item.annotation}"
    if item.default is item.empty:
        return text
    default = "..." if callable(item.default) else repr(item.default)
    return f"{text} = {default}"


def _describe_text(value: object) -> Iterator[str]:
    """Turn a docstring of Google's form into Markdown: prose, a table of arguments, an example."""
    text, _, example = (inspect.getdoc(value) or "").partition("\n>>> ")
    prose, *sections = SECTION.split(text)
    yield _plain_text(prose) + "\n"
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield f"| {title.lower().removesuffix('s').replace('arg', 'argument')} | meaning |\n|---|---|"
        for item, meaning in re.findall(
            r"(?ms)^(\w+): (.*?)(?=^\w+: |\Z)", textwrap.dedent(body).strip()
        ):
            yield f"| `{item}` | {_table_text(meaning)} |"
        yield ""
    if example:
        yield f"```python\n{_public_example(f'>>> {example.rstrip()}', value)}\n```\n"


def _public_example(example: str, value: object) -> str:
    """Return an example with the public names of what its own module calls by others."""
    in_epsilon = getattr(value, "__module__", "") == discreet.epsilon.__name__
    names = EPSILON if in_epsilon else PUBLIC
    lines: list[str] = []
    for line in example.splitlines():
        imported = re.match(r">>> from discreet\S* import (.+)", line)
        if imported and set(imported[1].split(", ")) <= names.keys():
            continue
        is_code = line.startswith((">>> ", "... ")) and " import " not in line
        lines.append(_replace_names(line, names) if is_code else line)
    return "\n".join(lines)


def _replace_names(line: str, names: dict[str, str]) -> str:
    bare = re.compile(rf"(?<![\w.\"'])({'|'.join(names)})\b(?=[(.])")
    return bare.sub(lambda found: names[found[1]], line)


def _plain_text(text: str) -> str:
    paragraphs = [re.sub(r"\s*\n\s*", " ", part).strip() for part in text.strip().split("\n\n")]
    return "\n\n".join(paragraphs)


def _table_text(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(write_page(), "utf-8")
