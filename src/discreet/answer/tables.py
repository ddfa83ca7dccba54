"""A source and a policy to the tables that questions may name, each with its account and its version."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypedDict

from discreet.answer.catalog import Catalog, CatalogTable, Origin
from discreet.answer.frame_state import name_state
from discreet.answer.identity import TableIdentity, find_identity
from discreet.answer.schemas import (
    PinnedSchema,
    PinnedSchemas,
    conform_table,
    declared_schema,
    pin_name,
)
from discreet.dp.ledger.ledger import Ledger
from discreet.engines import files
from discreet.engines.address import take_parameter, without_password
from discreet.engines.connect import (
    find_named_files,
    holds_tables,
    is_local,
    is_untyped_source,
    label_of,
    list_tables,
    names_its_table,
    needs_kinds,
    open_table,
    opened_table,
    recognize_cells,
    source_header_names,
)
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredSchema, Engine, Table
from discreet.errors import UndeclaredKind, UnknownColumn, did_you_mean
from discreet.measure.roles import select_table
from discreet.policy import model
from discreet.registry import find_engine


class ReadOptions(TypedDict, total=False):
    """How a source is read."""

    delimiter: str | None
    encoding: str | None
    memory_limit: str | None


FRAME_NAME = "data"  # the name of a frame that has none
REGISTRATION_SUFFIX = ".registered.json"


@dataclass(frozen=True)
class _CatalogOptions:
    """What all tables of a catalog have in common."""

    policy: model.Policy | None
    reading: ReadOptions
    pins: PinnedSchemas
    recognize: Callable[[CatalogTable], TableIdentity]


def open_catalog(
    source: object,
    policy: model.Policy | None,
    ledger: Ledger,
    *,
    clock: Callable[[], datetime],
    table: str | None = None,
    reading: ReadOptions | None = None,
) -> tuple[Catalog, Engine]:
    """Return the tables and the engine that they are all on; no row of people is read for it.

    The one exception is a table without a policy that is asked about for the first time: its
    rows show whether it was asked about elsewhere.
    """
    setting = _CatalogOptions(
        policy,
        reading or {},
        PinnedSchemas(ledger),
        lambda held: find_identity(held, ledger, at=clock()),
    )
    if _is_database(source) and table is None and take_parameter(str(source), "table")[1] is None:
        return _open_database_catalog(str(source), setting)
    main = _open_main_table(source, table, setting)
    name = _table_name(source, main.table, table)
    openers: dict[str, Callable[[], CatalogTable]] = {}
    for other in (policy.tables if policy else {}).values():
        openers[other.name] = _table_opener(other, setting, main.table.engine, source)
    openers[main.name] = lambda: main
    openers.setdefault(name, lambda: main)
    return Catalog(openers, main=main.name), main.table.engine


def _open_main_table(source: object, table: str | None, setting: _CatalogOptions) -> CatalogTable:
    """Return the table that was named by its source."""
    _refuse_inference(source, table)
    engine, place = None, source
    if is_local(source):
        engine = DuckDB(memory_limit=setting.reading.get("memory_limit"), looks_at_rows=False)
    try:
        if engine is not None and isinstance(source, str) and source == files.STANDARD_INPUT:
            place = str(files.store_standard_input(engine))
        return _open_main_on(engine, place, source, table, setting)
    except BaseException:
        if engine is not None:
            engine.close()
        raise


def _open_main_on(
    engine: Engine | None,
    place: object,
    source: object,
    table: str | None,
    setting: _CatalogOptions,
) -> CatalogTable:
    policy = setting.policy
    within = None if names_its_table(source) else table
    if policy is not None and not needs_kinds(place):
        opened = open_table(place, table=within, engine=engine, **setting.reading)
        declared = select_table(policy, label=opened.label, name=table)
        return _make_catalog_table(
            declared.name, _conform_private_table(opened, declared), declared, source
        )
    declared = None
    if policy is not None:
        declared = select_table(policy, label=label_of(place), name=table)
    name = declared.name if declared else _file_name(source)
    opened, pinned = _open_source(
        place, declared, setting, table=within, engine=engine, called=(source, name)
    )
    return _make_catalog_table(
        declared.name if declared else _table_name(source, opened, table),
        opened,
        declared,
        source,
        pinned,
    )


def _open_source(
    place: object,
    declared: model.TablePolicy | None,
    setting: _CatalogOptions,
    *,
    called: tuple[object, str],
    table: str | None = None,
    engine: Engine | None = None,
) -> tuple[Table, PinnedSchema | None]:
    """Return a table as its policy declares it, or as it was drafted when it was first asked about.

    `called` is the source as the user named it, and the table's name.
    """
    reading = setting.reading
    if declared is not None:
        is_declared = needs_kinds(place) and not declared.public
        schema = declared_schema(declared) if is_declared else None
        opened = open_table(place, table=table, engine=engine, schema=schema, **reading)
        return _conform_private_table(opened, declared), None
    if not is_untyped_source(place):
        opened = open_table(place, table=table, engine=engine, **reading)
        names = [column.name for column in opened.columns]
        pin = _PinRequest("keys", called, table, (*names, *(opened.undeclared or ())))
        return opened, _find_or_draft(pin, setting, lambda: opened, lambda: nullcontext(opened))
    written = {"delimiter": reading.get("delimiter"), "encoding": reading.get("encoding")}
    names = source_header_names(place, table=table, **written)

    def open_as(schema: DeclaredSchema | None) -> Table:
        return open_table(place, table=table, engine=engine, schema=schema, **reading)

    pinned = _find_or_draft(
        _PinRequest("schema", called, table, names),
        setting,
        # As a policy would declare it: in another encoding the same rows would have other cells.
        lambda: open_as(recognize_cells(place, engine=engine, **written)),
        lambda: opened_table(place, table=table, **reading),
    )
    return open_as(pinned.schema), pinned


@dataclass(frozen=True)
class _PinRequest:
    """Which draft is looked for: of which kind, and of which table with which columns."""

    kind: str
    called: tuple[object, str]
    table: str | None
    names: tuple[str, ...] | None

    def name_at(self, label: str, *, table: str | None = None) -> str:
        return pin_name(self.kind, label, table, self.names)


def _find_or_draft(
    wanted: _PinRequest,
    setting: _CatalogOptions,
    open_cells: Callable[[], Table],
    open_inferred: Callable[[], AbstractContextManager[Table]],
) -> PinnedSchema:
    """Return what was pinned for a table at its place, or for its rows anywhere; else draft and pin it.

    A pipe or a frame has no place: only its rows distinguish it from others with the same columns. A copy
    of a table that was drafted before keeps that draft, so that its rows decide nothing again.
    """
    (source, name), pins = wanted.called, setting.pins
    label = _source_label(source, name)
    at_place = wanted.name_at(label, table=wanted.table) if _has_place(source) else None
    pinned = None if at_place is None else pins.find(at_place)
    if pinned is not None:
        return pinned
    cells = open_cells()
    origin = _make_origin(source, name, cells)
    held = CatalogTable(name, cells, None, account=f"table:{label}", version="", origin=origin)
    accounts = setting.recognize(held).accounts
    found = (pins.find(wanted.name_at(account)) for account in accounts)
    pinned = next((one for one in found if one is not None), None)
    if pinned is None:
        with open_inferred() as seen:
            pinned = pins.draft(wanted.name_at(accounts[0]), seen)
    return pinned if at_place is None else pins.keep(at_place, pinned)


def _has_place(source: object) -> bool:
    return isinstance(source, (str, Path)) and str(source) != files.STANDARD_INPUT


def _refuse_inference(source: object, table: str | None) -> None:
    """Refuse JSON on Spark, which takes its columns and their types from the rows."""
    names = (str(source).partition("?")[0], table or "") if isinstance(source, (str, Path)) else ()
    if names and names[0].startswith("spark:") and any(n.lower().endswith(".json") for n in names):
        raise UndeclaredKind(
            "Spark finds the columns of JSON in its rows, so that they would decide what can be asked. "
            "Ask about the file itself, without `spark:`, or about a table or Parquet file on Spark."
        )


def _conform_private_table(opened: Table, declared: model.TablePolicy) -> Table:
    """Return the table with the kinds that its policy declares; what is public is as it is."""
    return opened if declared.public else conform_table(opened, declared)


def _is_database(source: object) -> bool:
    spec = find_engine(source)
    return spec is not None and spec.list_tables is not None


def _file_has_table(source: object, name: str) -> bool:
    """Whether a file of several tables, such as a DuckDB database or a workbook, has one of this name."""
    if not isinstance(source, (str, Path)) or not find_named_files(source):
        return False
    return holds_tables(source) and find_engine(source) is None and name in list_tables(source)


def _open_database_catalog(url: str, setting: _CatalogOptions) -> tuple[Catalog, Engine]:
    policy = setting.policy
    names = list_tables(url)
    if not names:
        open_table(url)  # which reports that there is none
    first = open_table(url, table=names[0])

    def opener(name: str) -> Callable[[], CatalogTable]:
        declared = policy.tables.get(name) if policy else None
        source = f"{url}#{name}"

        def opened() -> CatalogTable:
            found = _open_source(
                url, declared, setting, called=(source, name), table=name, engine=first.engine
            )
            return _make_catalog_table(name, found[0], declared, source, found[1])

        return opened

    wanted = [name for name in names if policy is None or name in policy.tables]
    return Catalog({name: opener(name) for name in wanted}), first.engine


def _table_name(source: object, main: Table, table: str | None) -> str:
    if table is not None:
        return table
    if not isinstance(source, (str, Path)):
        return FRAME_NAME
    text = str(source)
    if spec := find_engine(text):
        return main.label if spec.names_schemas else main.label.rpartition(".")[2]
    return _file_name(source)


def _file_name(source: object) -> str:
    """Return the name of a file in questions: people.csv is `people`."""
    if not isinstance(source, (str, Path)):
        return FRAME_NAME
    stem = Path(str(source)).name
    while Path(stem).suffix:
        stem = Path(stem).stem
    return stem or FRAME_NAME


def _table_opener(
    declared: model.TablePolicy, setting: _CatalogOptions, engine: Engine, main: object
) -> Callable[[], CatalogTable]:
    policy = setting.policy
    folder = policy.path.parent if policy and policy.path else Path()

    def opened() -> CatalogTable:
        place = declared.source
        if place is None:
            is_beside = _is_database(main) or _file_has_table(main, declared.name)
            place = str(main) if is_beside else declared.name
        elif "://" not in place and find_engine(place) is None:
            place = str(folder / place)
        is_named = _is_database(place) and "table=" not in place
        table = declared.name if is_named or _file_has_table(place, declared.name) else None
        found, _ = _open_source(
            place,
            declared,
            replace(setting, reading={}),
            called=(place, declared.name),
            table=table,
            engine=engine,
        )
        return _make_catalog_table(declared.name, found, declared, place)

    return opened


def _make_catalog_table(
    name: str,
    table: Table,
    declared: model.TablePolicy | None,
    source: object,
    pinned: PinnedSchema | None = None,
) -> CatalogTable:
    if declared is not None:
        _require(table, declared)
    label = _source_label(source, name)
    return CatalogTable(
        name,
        table,
        declared,
        account=f"table:{declared.id if declared and declared.id else label}",
        version=_content_version(source),
        rank=_find_rank_column(
            _read_registration(source), source, table, declared.unit if declared else None
        ),
        origin=_make_origin(source, name, table),
        pinned=pinned,
    )


def _require(table: Table, declared: model.TablePolicy) -> None:
    """Refuse a table without its unit: its rows could not be assigned to people."""
    period = declared.unit_period.column if declared.unit_period else None
    for name in filter(None, (declared.unit, period)):
        if table.column(name) is None:
            column = declared.column(name)
            if table.schema is not None and (column is None or column.kind is None):
                raise UndeclaredKind(
                    f"The unit '{name}' of '{declared.name}' has no `kind:` in the policy. Add it, such "
                    f"as `{name}: {{role: identifier, kind: integer}}`."
                )
            near = did_you_mean(name, (column.name for column in table.columns))
            raise UnknownColumn(f"The unit '{name}' is not in {table.label}.{near}")


def _source_label(source: object, name: str) -> str:
    """Return where a table is, for people."""
    if not isinstance(source, (str, Path)):
        return f"frame/{name}"
    text = str(source)
    if _is_database(text):
        return f"{without_password(take_parameter(text.partition('#')[0], 'table')[0])}#{name}"
    if find_engine(text) is not None:
        return without_password(text)
    if text == files.STANDARD_INPUT:
        return "standard input"
    return str(Path(text).expanduser().resolve())


def _make_origin(source: object, name: str, table: Table) -> Origin:
    """Return how a table was reached; what was registered was charged to the table it is a copy of."""
    label = _source_label(source, name)
    former = _read_registration(source).get("account") or f"table:{label}"
    return Origin(
        label, _account_label(source, name), _content_location(source, table), former=str(former)
    )


def _account_label(source: object, name: str) -> str:
    """Return the name of a table within the name of its account."""
    is_file = isinstance(source, (str, Path)) and find_engine(source) is None
    return Path(str(source)).name if is_file else name


def _content_location(source: object, table: Table) -> str | None:
    """Return a text that is the same only for a table that was not written to meanwhile.

    None where that cannot be known: then a table is recognized by its rows.
    """
    if not isinstance(source, (str, Path)) or str(source) == files.STANDARD_INPUT:
        return None
    text = str(source)
    if find_engine(text) is not None:
        return table.engine.place(table.label)
    stats = [(path.resolve(), path.stat()) for path in map(Path, files.find_files(text))]
    written = [
        [str(path), s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns]
        for path, s in stats
    ]
    return json.dumps(["files", table.label, written])


def _content_version(source: object) -> str:
    """Return a text that changes when the content may have changed."""
    if isinstance(source, (str, Path)) and find_engine(source) is None:
        text = str(source)
        if text != files.STANDARD_INPUT:
            found = [(path, path.stat()) for path in map(Path, files.find_files(text))]
            return json.dumps([[str(p), s.st_size, s.st_mtime_ns, s.st_ino] for p, s in found])
    # A server's table or a stream may change at any time: its answers are free again only while it is open.
    return name_state(source) or secrets.token_hex(16)


def _read_registration(source: object) -> Mapping[str, object]:
    """Return what `discreet register` wrote beside a file, nothing where it was not registered."""
    if not isinstance(source, (str, Path)):
        return {}
    beside = Path(f"{source}{REGISTRATION_SUFFIX}")
    try:
        registration = json.loads(beside.read_text("utf-8")) if beside.is_file() else {}
    except (OSError, ValueError):
        return {}
    return registration if isinstance(registration, dict) else {}


def _find_rank_column(
    registration: Mapping[str, object], source: object, table: Table, unit: str | None
) -> str | None:
    """Return the column of ranks that was written into this very file for this unit."""
    name = registration.get("rank")
    if not isinstance(name, str) or table.column(name) is None:
        return None
    # The ranks of another unit's rows bound nothing.
    is_same = (
        registration.get("unit") == unit
        and registration.get("size") == Path(str(source)).stat().st_size
    )
    return name if is_same else None
