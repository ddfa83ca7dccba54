"""YAML read as text: every scalar stays as it was written, and every key knows its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

Place = tuple[str | int, ...]  # the keys and list indices that lead to a part of the file

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
# Aliases may repeat a node that repeats a node …: without a limit ten lines can fill the memory.
_MOST_NODES = 200_000


class InvalidYaml(Exception):
    """The text is no YAML document; carries the line and one sentence."""

    def __init__(self, line: int, sentence: str) -> None:
        self.line = line
        self.sentence = sentence
        super().__init__(sentence)


@dataclass(frozen=True)
class Document:
    """The file as dicts, lists and text, and the nodes it came from."""

    data: Any
    root: yaml.Node

    def line(self, place: Place) -> int:
        """Return the line of the part at `place`, or of the nearest part around it."""
        node, line = self.root, self.root.start_mark.line
        for part in place:
            found = _find_child(node, part)
            if found is None:
                break
            line, node = found
        return line + 1


def read_document(text: str, *, on_repeat: Callable[[int, Place], None]) -> Document | None:
    """Return the document in `text`, None if there is none; `on_repeat` is called for repeated keys.

    Raises:
        Unreadable: The text is not one well-formed YAML document.
    """
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        raise _translate_yaml_error(error, text) from None
    if root is None:
        return None
    reader = _NodeReader(on_repeat)
    return Document(reader.read(root, ()), root)


def _translate_yaml_error(error: yaml.YAMLError, text: str) -> InvalidYaml:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = error.problem_mark.line + 1
        problem = error.problem
        if error.context and error.context_mark is not None:
            problem = f"{error.context} that began on line {error.context_mark.line + 1}, {problem}"
        return InvalidYaml(line, f"not YAML: {problem}. Check this line and those before.")
    position = getattr(error, "position", 0)
    line = text.count("\n", 0, position) + 1
    return InvalidYaml(line, "not YAML: a character that YAML does not allow. Remove it.")


@dataclass
class _NodeReader:
    """Turns nodes into plain data, within limits."""

    on_repeat: Callable[[int, Place], None]
    nodes: int = 0

    def read(self, node: yaml.Node, place: Place, above: tuple[int, ...] = ()) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        if id(node) in above:
            raise InvalidYaml(line, "an alias stands for what it is part of. Write it out.")
        if self.nodes > _MOST_NODES:
            raise InvalidYaml(line, "the aliases repeat too much. Write fewer of them.")
        above = (*above, id(node))
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, place, above)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*place, i), above) for i, item in enumerate(node.value)]
        return node.value

    def _read_mapping(self, node: yaml.MappingNode, place: Place, above: tuple[int, ...]) -> Any:
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise InvalidYaml(line, "a key must be plain text, not a list or mapping.")
            if key.value in found:
                self.on_repeat(line, (*place, key.value))
            else:
                found[key.value] = self.read(value, (*place, key.value), above)
        return found


def _find_child(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    """Return the line and node of the key or item `part` of `node`."""
    if isinstance(node, yaml.MappingNode):
        pairs = ((k.start_mark.line, v) for k, v in node.value if k.value == part)
        return next(pairs, None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        item = node.value[part]
        return item.start_mark.line, item
    return None
