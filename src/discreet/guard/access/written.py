"""The authority as JSON and back, exactly; roles stay in the order of their age."""

from __future__ import annotations

from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.guard.access.authority import (
    Allowance,
    Authority,
    Check,
    Column,
    Control,
    Entry,
    Exclusion,
    ForeignKey,
    Mask,
    Membership,
    Privilege,
    Relation,
    Role,
    RowPolicy,
    Schema,
    Trigger,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]


def to_json(authority: Authority) -> Json:
    """Return the authority as values that JSON has.

    >>> to_json(Authority(version=3))["version"]
    3
    """
    return {
        "version": authority.version,
        "lattice": authority.lattice,
        "roles": [asdict(role) for role in authority.roles.values()],
        "memberships": [asdict(edge) for edge in authority.memberships],
        "schemas": [_plain(asdict(schema)) for schema in authority.schemas.values()],
        "relations": [_plain(asdict(one)) for one in authority.relations.values()],
        "exclusions": [_plain(asdict(one)) for one in authority.exclusions],
        "retired": list(authority.retired),
    }


def _plain(value: Any) -> Any:
    """Return a value with lists for tuples and text for exact numbers."""
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, Decimal | Privilege):
        return str(value)
    return value


def from_json(written: Mapping[str, Any]) -> Authority:
    """Return the authority that `to_json` wrote.

    >>> from_json(to_json(Authority(version=3, lattice="U < S"))).lattice
    'U < S'
    """
    roles = [Role(**role) for role in written["roles"]]
    schemas = [
        Schema(one["name"], one["owner"], _acl_or_none(one["acl"])) for one in written["schemas"]
    ]
    relations = [_relation(one) for one in written["relations"]]
    return Authority(
        version=written["version"],
        roles={role.name: role for role in roles},
        memberships=tuple(Membership(**edge) for edge in written["memberships"]),
        schemas={schema.name: schema for schema in schemas},
        relations={relation.key: relation for relation in relations},
        exclusions=tuple(
            Exclusion(one["name"], _texts(one["roles"])) for one in written["exclusions"]
        ),
        lattice=written["lattice"],
        # Authorities that were written before roles had identities have none.
        retired=_texts(written.get("retired", ())),
    )


def _texts(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(values)


def _entry(written: Json) -> Entry:
    budget = written["budget"]
    if budget is not None:
        budget = Allowance(Decimal(budget["epsilon"]), Decimal(budget["delta"]))
    return Entry(
        written["grantee"],
        written["grantor"],
        Privilege(written["privilege"]),
        written["grantable"],
        budget,
    )


def _acl(written: Sequence[Json]) -> tuple[Entry, ...]:
    return tuple(_entry(entry) for entry in written)


def _acl_or_none(written: Sequence[Json] | None) -> tuple[Entry, ...] | None:
    return None if written is None else _acl(written)


def _foreign_key(written: Json) -> ForeignKey:
    schema, name = written["target"]
    return ForeignKey(
        _texts(written["columns"]),
        (schema, name),
        _texts(written["target_columns"]),
        written["name"],
    )


def _fields(written: Json, **changed: object) -> Json:
    return {**written, **changed}


def _column(written: Json) -> Column:
    return Column(**_fields(written, acl=_acl(written["acl"])))


def _policy(written: Json) -> RowPolicy:
    return RowPolicy(**_fields(written, roles=_texts(written["roles"])))


def _mask(written: Json) -> Mask:
    return Mask(**_fields(written, roles=_texts(written["roles"])))


def _control(written: Json) -> Control:
    return Control(**_fields(written, roles=_texts(written["roles"])))


def _trigger(written: Json) -> Trigger:
    events, columns = _texts(written["events"]), _texts(written["columns"])
    return Trigger(**_fields(written, events=events, columns=columns))


def _relation(written: Json) -> Relation:
    return Relation(
        **_fields(
            written,
            columns=tuple(_column(one) for one in written["columns"]),
            acl=_acl_or_none(written["acl"]),
            primary_key=_texts(written["primary_key"]),
            uniques=tuple(_texts(key) for key in written["uniques"]),
            foreign_keys=tuple(_foreign_key(key) for key in written["foreign_keys"]),
            checks=tuple(Check(**one) for one in written["checks"]),
            policies=tuple(_policy(one) for one in written["policies"]),
            masks=tuple(_mask(one) for one in written["masks"]),
            # Authorities that were written before there were controls have none.
            controls=tuple(_control(one) for one in written.get("controls", ())),
            triggers=tuple(_trigger(one) for one in written["triggers"]),
            physical=_texts(written["physical"]),
        )
    )
