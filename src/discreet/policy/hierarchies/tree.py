"""Words made coarser by a taxonomy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from discreet.arrow import ArrowArray
from discreet.errors import InvalidHierarchy
from discreet.policy.hierarchies.values import positions
from discreet.policy.hierarchy import TOP, edge_labels, missing_values


@dataclass(frozen=True)
class Taxonomy:
    """A taxonomy: groups of groups of values.

    A level is a depth of the tree, counted from its root, so that labels of one level are of one
    rank. A value whose branch is shorter keeps the label of its nearest group until the others have
    caught up with it. In `{Europe: [France], Asia: {East: [Japan]}}` level 1 has Europe and East,
    level 2 Europe and Asia, level 3 `*`.

    >>> tree = Taxonomy((TaxonomyGroup("Europe", (TaxonomyGroup("Iberia", ("Spain", "Portugal")), "France")),))
    >>> [tree.generalize(pa.array(["Spain", "France"]), level).to_pylist() for level in (1, 2)]
    [['Iberia', 'Europe'], ['Europe', 'Europe']]
    """

    groups: tuple[TaxonomyGroup, ...]

    def __post_init__(self) -> None:
        """Refuse a value or group that is in two places, and groups without values."""
        if not self.groups:
            raise InvalidHierarchy("A tree needs groups, such as {Europe: [France, Spain]}.")
        leaves: set[str] = set()
        groups: set[str] = set()
        for group in self.groups:
            _check(group, leaves=leaves, groups=groups)

    @property
    def height(self) -> int:
        """The depth of the deepest group, and `*`."""
        return max(len(path) for path in self._leaf_paths.values()) + 1

    @property
    def domain(self) -> ArrowArray:
        """Every value in the tree."""
        return self._leaf_array

    def generalize(self, values: ArrowArray, level: int) -> ArrowArray:
        """Return the group of each value at `level`."""
        edge = edge_labels(values, level, height=self.height)
        if edge is not None:
            return edge
        found = positions(values, self._leaf_array)
        is_null = values.is_null().to_numpy(zero_copy_only=False)
        if ((found < 0) & ~is_null).any():
            raise missing_values(self.misses(values), of=values, where="The hierarchy")
        depth = self.height - level
        labels = [path[min(depth, len(path)) - 1] for path in self._leaf_paths.values()]
        return pa.array(labels, pa.string()).take(pa.array(found, mask=is_null))

    def misses(self, values: ArrowArray) -> ArrowArray:
        """Return the values that are no leaf of the tree."""
        found = positions(values, self._leaf_array)
        is_null = values.is_null().to_numpy(zero_copy_only=False)
        return values.filter(pa.array((found < 0) & ~is_null))

    def to_yaml_value(self) -> dict[str, Any]:
        """Return `{tree: {Europe: [France, Spain]}}`."""
        return {"tree": {group.label: group.to_yaml_value() for group in self.groups}}

    @cached_property
    def _leaf_paths(self) -> dict[str, tuple[str, ...]]:
        """The groups of each leaf, outermost first."""
        return {leaf: path for group in self.groups for leaf, path in group.leaves(())}

    @cached_property
    def _leaf_array(self) -> ArrowArray:
        return pa.array(list(self._leaf_paths), pa.string())


@dataclass(frozen=True)
class TaxonomyGroup:
    """A label and what it stands for: values, or smaller groups."""

    label: str
    members: tuple[str | TaxonomyGroup, ...]

    def leaves(self, above: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each value below, with the labels that lead to it."""
        path = (*above, self.label)
        for member in self.members:
            if isinstance(member, TaxonomyGroup):
                yield from member.leaves(path)
            else:
                yield member, path

    def to_yaml_value(self) -> list[Any] | dict[str, Any]:
        """Return the members as a list of values, or as a mapping of groups."""
        groups = [member for member in self.members if isinstance(member, TaxonomyGroup)]
        if len(groups) == len(self.members):
            return {group.label: group.to_yaml_value() for group in groups}
        return [
            {member.label: member.to_yaml_value()} if isinstance(member, TaxonomyGroup) else member
            for member in self.members
        ]


def build_taxonomy(written: Mapping[str, Any]) -> Taxonomy:
    """Return the tree that nested mappings and lists of text describe.

    >>> build_taxonomy({"Europe": ["France", {"Iberia": ["Spain"]}]}).height
    3
    """
    return Taxonomy(_build_groups(written))


def _build_groups(written: Mapping[str, Any]) -> tuple[TaxonomyGroup, ...]:
    return tuple(
        TaxonomyGroup(label, _build_members(label, below)) for label, below in written.items()
    )


def _build_members(label: str, written: object) -> tuple[str | TaxonomyGroup, ...]:
    if isinstance(written, Mapping):
        return _build_groups(written)
    if not isinstance(written, list):
        raise InvalidHierarchy(
            f"Group '{label}' of the tree must hold a list of values or groups of its own."
        )
    members: list[str | TaxonomyGroup] = []
    for item in written:
        if isinstance(item, str):
            members.append(item)
        else:
            members.extend(_build_members(label, item))
    return tuple(members)


def _check(group: TaxonomyGroup, *, leaves: set[str], groups: set[str]) -> None:
    if not group.members:
        raise InvalidHierarchy(
            f"Group '{group.label}' of the tree is empty. Add values or drop it."
        )
    if group.label == TOP:
        raise InvalidHierarchy(f"'{TOP}' is the top of every tree. Give the group another name.")
    _claim_label(group.label, groups, what="Group")
    for member in group.members:
        if isinstance(member, TaxonomyGroup):
            _check(member, leaves=leaves, groups=groups)
        else:
            _claim_label(member, leaves, what="Value")


def _claim_label(label: str, taken: set[str], *, what: str) -> None:
    if label in taken:
        raise InvalidHierarchy(f"{what} '{label}' is in the tree twice. Keep one of them.")
    taken.add(label)
