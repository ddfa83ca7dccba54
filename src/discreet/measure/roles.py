"""Who plays which part: a table's columns bound to a policy, to words on the command line, or guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from discreet.engines.connect import find_named_files, holds_tables, is_local, label_of
from discreet.engines.declared_schema import declared_file
from discreet.engines.engine import Column, DeclaredSchema, Engine, Table
from discreet.errors import ConflictingRoles, UnknownColumn, WrongUsage, did_you_mean
from discreet.measure.classes import Roles
from discreet.policy import model
from discreet.policy.model import ColumnRole


@dataclass(frozen=True)
class RoleBinding:
    """A subject, the policy of its columns, and the origin of its roles."""

    subject: Roles
    roles: Mapping[str, ColumnRole]
    policy: model.TablePolicy | None = None
    guessed: bool = False

    @property
    def unpublished(self) -> frozenset[str]:
        """The columns that no release has: what names people, and the weight unless it is asked for."""
        keeps_weight = self.policy is not None and self.policy.release.publish_weight
        return frozenset(
            name
            for name, role in self.roles.items()
            if role.names_people or (role is ColumnRole.WEIGHT and not keeps_weight)
        )


def bind_roles(  # noqa: PLR0913 -- the flags of the commands
    table: Table,
    *,
    policy: model.TablePolicy | None = None,
    path: str | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    unit: str | None = None,
    rows_are_people: bool = False,
    weight: str | None = None,
    household: str | None = None,
) -> RoleBinding:
    """Return the parts of `table`'s columns; words given here win over the policy.

    A weight whose role is a guess that no one confirmed is not used: it would make people look safer.

    With `rows_are_people` the policy's unit may be gone from the table, as it is from a release.

    Raises:
        UnknownColumn: A named column is not in the table.
        ConflictingRoles: A column is both quasi-identifier and sensitive or unit.
        WrongUsage: There is no quasi-identifier.
    """
    for words in (quasi, sensitive):
        if isinstance(words, str):
            raise WrongUsage(f"'{words}' is one text. Give a list of column names.")
    if policy is not None:
        # What is published lacks what its policy leaves out.
        policy = policy.without([n for n in policy.release.leave_out if table.column(n) is None])
        _require_policy_columns(table, policy, path)
    guessed = policy is None and quasi is None
    roles = _guess_column_roles(table) if guessed else _policy_roles(policy)
    named_quasi = (
        quasi if quasi is not None else _columns_with_role(roles, ColumnRole.QUASI_IDENTIFIER)
    )
    named_sensitive = (
        sensitive if sensitive is not None else _columns_with_role(roles, ColumnRole.SENSITIVE)
    )
    if guessed and sensitive is not None:
        named_quasi = [name for name in named_quasi if name not in sensitive]
    named_unit = unit or _unit_name(table, policy, rows_are_people=rows_are_people)
    if guessed and named_unit:
        named_quasi = [name for name in named_quasi if name != named_unit]
    linked = {ColumnRole.WEIGHT: weight, ColumnRole.HOUSEHOLD: household}
    if quasi is None:
        named_quasi = [name for name in named_quasi if name not in linked.values()]
    if sensitive is None:
        named_sensitive = [name for name in named_sensitive if name not in linked.values()]
    _require_distinct(named_quasi, named_sensitive, named_unit)
    _require_free(linked, named_quasi, named_sensitive, named_unit)
    if not named_quasi:
        raise WrongUsage(
            f"{table.label} has no quasi-identifier. Give the columns outsiders may know the role "
            "quasi-identifier in the policy, or name them: --quasi a,b."
        )
    subject = Roles(
        table,
        quasi=tuple(require_column(table, name) for name in named_quasi),
        sensitive=tuple(require_column(table, name) for name in named_sensitive),
        unit=require_column(table, named_unit) if named_unit else None,
        weight=_linked_column(table, roles, policy, role=ColumnRole.WEIGHT, named=weight),
        household=_linked_column(table, roles, policy, role=ColumnRole.HOUSEHOLD, named=household),
    )
    stated = dict.fromkeys(named_quasi, ColumnRole.QUASI_IDENTIFIER)
    stated |= dict.fromkeys(named_sensitive, ColumnRole.SENSITIVE)
    stated |= {name: role for role, name in linked.items() if name is not None}
    return RoleBinding(subject, {**roles, **stated}, policy, guessed)


def _linked_column(
    table: Table,
    roles: Mapping[str, ColumnRole],
    policy: model.TablePolicy | None,
    *,
    role: ColumnRole,
    named: str | None,
) -> Column | None:
    """Return the named column, or else the first one of this role that is here and confirmed."""
    if named is not None:
        return require_column(table, named)
    for name in _columns_with_role(roles, role):
        stated = policy.column(name) if policy else None
        if (stated is None or not stated.unsure) and (found := table.column(name)) is not None:
            return found
    return None


def _require_free(
    linked: Mapping[ColumnRole, str | None],
    quasi: Sequence[str],
    sensitive: Sequence[str],
    unit: str | None,
) -> None:
    """Refuse a weight or household that is named for something else as well."""
    taken = {*quasi, *sensitive}
    for role, name in linked.items():
        is_unit = role is ColumnRole.WEIGHT and name == unit and name is not None
        if name in taken or is_unit:
            raise ConflictingRoles(
                f"Column '{name}' is named as {role}, and is a quasi-identifier, sensitive or the unit as "
                "well. Choose one role."
            )


def on_engine(bound: RoleBinding, engine: Engine) -> RoleBinding:
    """Return the same parts, worked on by `engine`, which stands in for the table's own."""
    table = replace(bound.subject.table, engine=engine)
    return replace(bound, subject=replace(bound.subject, table=table))


def require_column(table: Table, name: str) -> Column:
    """Return the column called `name`, or say which one was meant."""
    found = table.column(name)
    if found is None:
        near = did_you_mean(name, (column.name for column in table.columns))
        raise UnknownColumn(f"Column '{name}' is not in {table.label}.{near}")
    return found


def refuse_stray_name(name: str | None, source: object, policy: model.Policy | None) -> None:
    """Refuse the name of a table where neither the source nor a policy has several."""
    if name is not None and policy is None and not holds_tables(source):
        raise WrongUsage(
            f"There is no table '{name}' to choose: the source is one table, and there is no "
            "policy. Leave --table out."
        )


def select_table(policy: model.Policy, *, label: str, name: str | None = None) -> model.TablePolicy:
    """Return the policy's table for a source: by name, by its `source`, by file name, or the only one."""
    if name is not None and name in policy.tables:
        return policy.tables[name]
    if name is not None and name != label:  # else it is the database's own name of the table
        raise WrongUsage(f"The policy has no table '{name}'.{did_you_mean(name, policy.tables)}")
    wanted = PurePath(label)
    for table in policy.tables.values():
        source = PurePath(table.source) if table.source else None
        if source is not None and source.name == wanted.name:
            return table
    if wanted.stem in policy.tables:
        return policy.tables[wanted.stem]
    if len(policy.tables) == 1:
        return next(iter(policy.tables.values()))
    names = ", ".join(f"'{known}'" for known in policy.tables)
    raise WrongUsage(
        f"The policy describes {names}; none of them names {label} as its source. "
        "Say which one with --table."
    )


def reading_hints(
    policy: model.Policy | None, source: object, *, name: str | None = None
) -> DeclaredSchema | None:
    """Return how a policy says that a file is written; None where it speaks of another file.

    A release is described by the policy of its source as well, and is written in discreet's own form.
    """
    if policy is None or not isinstance(source, (str, Path)) or not is_local(source):
        return None
    if not find_named_files(source):
        return None  # opening it says so
    table = select_table(policy, label=label_of(source), name=name)
    return declared_file(table) if _is_source_of(table, policy, Path(source)) else None


def _is_source_of(table: model.TablePolicy, policy: model.Policy, source: Path) -> bool:
    if table.source is None:
        return source.name.partition(".")[0] == table.name
    place = Path(table.source)
    if policy.path is not None and find_named_files(policy.path.parent / place):
        return (policy.path.parent / place).resolve() == source.expanduser().resolve()
    return place.name == source.name


def _unit_name(
    table: Table, policy: model.TablePolicy | None, *, rows_are_people: bool
) -> str | None:
    name = policy.unit if policy else None
    if name is None:
        return None
    is_there = table.column(name) is not None
    if is_there and rows_are_people:
        raise WrongUsage(
            f"{table.label} has its unit '{name}', so that people can be counted. Leave --rows out."
        )
    if not is_there and not rows_are_people:
        near = did_you_mean(name, (column.name for column in table.columns))
        raise UnknownColumn(
            f"The unit '{name}' is not in {table.label}, so that people cannot be counted."
            f"{near if 'mean' in near else ''} A release has lost it: if each of its rows is another "
            "person, `check` and `assess` take --rows."
        )
    return name if is_there else None


def _require_policy_columns(table: Table, policy: model.TablePolicy, path: str | None) -> None:
    faults: list[str] = []
    for column in policy.columns:
        # What is published has lost its identifiers, and its policy need not forget them.
        if column.name not in policy.unpublished and table.column(column.name) is None:
            near = did_you_mean(column.name, (other.name for other in table.columns))
            start = f"{path}:{column.line}: column" if path and column.line else "Column"
            faults.append(f"{start} '{column.name}' is not in {table.label}.{near}")
    if faults:
        raise UnknownColumn("\n".join(faults))


def _policy_roles(policy: model.TablePolicy | None) -> dict[str, ColumnRole]:
    return {column.name: column.role for column in policy.columns} if policy else {}


def _guess_column_roles(table: Table) -> dict[str, ColumnRole]:
    from discreet.measure.profile import guess_roles

    found: dict[str, ColumnRole] = {}
    for name, guess in guess_roles(table).items():
        is_doubtful = guess.role is ColumnRole.WEIGHT and guess.confidence == "low"
        found[name] = ColumnRole.QUASI_IDENTIFIER if is_doubtful else guess.role
    return found


def _columns_with_role(roles: Mapping[str, ColumnRole], role: ColumnRole) -> list[str]:
    return [name for name, found in roles.items() if found is role]


def _require_distinct(quasi: Sequence[str], sensitive: Sequence[str], unit: str | None) -> None:
    for role, names in ((ColumnRole.QUASI_IDENTIFIER, quasi), (ColumnRole.SENSITIVE, sensitive)):
        for name in names:
            if list(names).count(name) > 1:
                raise ConflictingRoles(f"Column '{name}' is named twice as {role}. Name it once.")
    for name in quasi:
        if name in sensitive:
            raise ConflictingRoles(
                f"Column '{name}' is both quasi-identifier and sensitive. An outsider either knows "
                "it or must not learn it: choose one role."
            )
    if unit is not None and (unit in quasi or unit in sensitive):
        raise ConflictingRoles(
            f"Column '{unit}' is the unit and cannot be a quasi-identifier or sensitive as well."
        )
