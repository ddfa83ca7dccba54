"""The authority as JSON and back, exactly; roles stay in the order of their age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from discreet.guard.access.authority import (
    AclEntry,
    Allowance,
    Authority,
    CheckConstraint,
    ColumnMask,
    DatabaseRole,
    DatabaseSchema,
    Exclusion,
    ForeignKey,
    InferenceControl,
    Privilege,
    Relation,
    RelationColumn,
    RoleMembership,
    RowPolicy,
    TableIndex,
    Trigger,
)

Json = dict[str, Any]


def to_json(authority: Authority) -> Json:
    """Return the authority as JSON values.

    >>> to_json(Authority(version=3))["version"]
    3
    """
    return {
        "version": authority.version,
        "lattice": authority.lattice,
        "roles": [asdict(role) for role in authority.roles.values()],
        "memberships": [asdict(edge) for edge in authority.memberships],
        "schemas": [_to_plain(asdict(schema)) for schema in authority.schemas.values()],
        "relations": [_to_plain(asdict(one)) for one in authority.relations.values()],
        "exclusions": [_to_plain(asdict(one)) for one in authority.exclusions],
        "retired": list(authority.retired),
    }


def _to_plain(value: Any) -> Any:
    """Return a value with lists for tuples and text for exact numbers."""
    if isinstance(value, dict):
        return {str(name): _to_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(inner) for inner in value]
    if isinstance(value, Decimal | Privilege):
        return str(value)
    return value


def from_json(written: Mapping[str, Any]) -> Authority:
    """Return the authority that `to_json` wrote.

    >>> from_json(to_json(Authority(version=3, lattice="U < S"))).lattice
    'U < S'
    """
    roles = [DatabaseRole(**role) for role in written["roles"]]
    schemas = [
        DatabaseSchema(one["name"], one["owner"], _read_optional_acl(one["acl"]))
        for one in written["schemas"]
    ]
    relations = [_read_relation(one) for one in written["relations"]]
    return Authority(
        version=written["version"],
        roles={role.name: role for role in roles},
        memberships=tuple(RoleMembership(**edge) for edge in written["memberships"]),
        schemas={schema.name: schema for schema in schemas},
        relations={relation.key: relation for relation in relations},
        exclusions=tuple(
            Exclusion(one["name"], _read_texts(one["roles"])) for one in written["exclusions"]
        ),
        lattice=written["lattice"],
        # Authorities written before roles had identities have none.
        retired=_read_texts(written.get("retired", ())),
    )


def _read_texts(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(values)


def _read_entry(written: Json) -> AclEntry:
    budget = written["budget"]
    if budget is not None:
        budget = Allowance(Decimal(budget["epsilon"]), Decimal(budget["delta"]))
    return AclEntry(
        written["grantee"],
        written["grantor"],
        Privilege(written["privilege"]),
        written["grantable"],
        budget,
    )


def _read_acl(written: Sequence[Json]) -> tuple[AclEntry, ...]:
    return tuple(_read_entry(entry) for entry in written)


def _read_optional_acl(written: Sequence[Json] | None) -> tuple[AclEntry, ...] | None:
    return None if written is None else _read_acl(written)


def _read_foreign_key(written: Json) -> ForeignKey:
    schema, name = written["target"]
    return ForeignKey(
        **_replace_fields(
            written,
            columns=_read_texts(written["columns"]),
            target=(schema, name),
            target_columns=_read_texts(written["target_columns"]),
            # Authorities written before keys had actions have none.
            set_columns=_read_texts(written.get("set_columns", ())),
        )
    )


def _read_index(written: Json) -> TableIndex:
    keys, included = _read_texts(written["keys"]), _read_texts(written["included"])
    return TableIndex(**_replace_fields(written, keys=keys, included=included))


def _replace_fields(written: Json, **changed: object) -> Json:
    return {**written, **changed}


def _read_column(written: Json) -> RelationColumn:
    return RelationColumn(**_replace_fields(written, acl=_read_acl(written["acl"])))


def _read_policy(written: Json) -> RowPolicy:
    return RowPolicy(**_replace_fields(written, roles=_read_texts(written["roles"])))


def _read_mask(written: Json) -> ColumnMask:
    return ColumnMask(**_replace_fields(written, roles=_read_texts(written["roles"])))


def _read_control(written: Json) -> InferenceControl:
    return InferenceControl(**_replace_fields(written, roles=_read_texts(written["roles"])))


def _read_trigger(written: Json) -> Trigger:
    events, columns = _read_texts(written["events"]), _read_texts(written["columns"])
    return Trigger(**_replace_fields(written, events=events, columns=columns))


def _read_relation(written: Json) -> Relation:
    return Relation(
        **_replace_fields(
            written,
            columns=tuple(_read_column(one) for one in written["columns"]),
            acl=_read_optional_acl(written["acl"]),
            primary_key=_read_texts(written["primary_key"]),
            uniques=tuple(_read_texts(key) for key in written["uniques"]),
            foreign_keys=tuple(_read_foreign_key(key) for key in written["foreign_keys"]),
            checks=tuple(CheckConstraint(**one) for one in written["checks"]),
            # Authorities written before keys had names and tables had indexes have none.
            key_names=tuple((name, _read_texts(key)) for name, key in written.get("key_names", ())),
            indexes=tuple(_read_index(one) for one in written.get("indexes", ())),
            policies=tuple(_read_policy(one) for one in written["policies"]),
            masks=tuple(_read_mask(one) for one in written["masks"]),
            # Authorities written before controls existed have none.
            controls=tuple(_read_control(one) for one in written.get("controls", ())),
            triggers=tuple(_read_trigger(one) for one in written["triggers"]),
            physical=_read_texts(written["physical"]),
        )
    )
