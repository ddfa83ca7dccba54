"""The rows that hold what each part of the data has paid, and the one update that charges them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, astuple
from functools import cache

from sqlalchemy import Connection, Update, bindparam, case, func, insert, select, update

from discreet.dp.ledger.schema import EVERYTHING_ELSE, spending
from discreet.dp.ledger.units import MOST, NOTHING, Units
from discreet.errors import Bug
from discreet.stores.plain import StatementConnection

_BATCH_SIZE = 500  # names in one statement
_CURRENCIES = (spending.c.epsilon, spending.c.delta, spending.c.rho, spending.c.slip)
_OF_ACCOUNT = spending.c.account == bindparam("of")
_COUNT = select(func.count()).select_from(spending).where(_OF_ACCOUNT)
_ROWS = select(spending.c.cell, *_CURRENCIES).where(_OF_ACCOUNT)


def charge(
    connection: Connection,
    account: str,
    cells: frozenset[str] | None,
    *,
    cost: Units,
    limits: Units,
) -> bool:
    """Add `cost` to all rows it concerns, and return whether every one of them stays within `limits`.

    If not, the caller must roll back.
    """
    if cells:
        _name_cells(connection, account, cells)
        parts: list[list[str] | None] = [*_batch_names(cells)]
        expected = len(cells)
    else:
        parts = [None]
        expected = connection.scalar(_COUNT, {"of": account})
    charged = sum(_add(connection, account, names, cost=cost, limits=limits) for names in parts)
    if expected is None or charged > expected:
        raise Bug("A charge reached more parts than there are. Please report the question.")
    return charged == expected


def comparable_cells(
    connection: Connection, account: str, cells: frozenset[str] | None
) -> frozenset[str] | None:
    """Return `cells`, or None (everything) if the account has cells that may overlap them.

    Cells such as `month|admitted=2026-03` are known to be apart from each other only if they say the
    same before the `=`. A policy that divides a table another way than before is charged for all of it.
    """
    if not cells:
        return cells
    named = connection.scalars(
        select(spending.c.cell).where(
            spending.c.account == account, spending.c.cell != EVERYTHING_ELSE
        )
    )
    schemes = {_cell_scheme(cell_row_name(cell)) for cell in cells} | {
        _cell_scheme(name) for name in named
    }
    return cells if len(schemes) == 1 else None


def _cell_scheme(name: str) -> str:
    scheme, is_said, _ = name[1:].partition("=")
    return scheme if is_said else ""


def open_account(connection: Connection, account: str) -> None:
    """Make the row of everything, with nothing spent."""
    connection.execute(
        insert(spending).values(account=account, cell=EVERYTHING_ELSE, **asdict(NOTHING))
    )


def most_spent(
    connection: StatementConnection, account: str, cells: frozenset[str] | None, *, by: str
) -> tuple[Units, str | None]:
    """Return the largest spending among the rows of `cells`, and the cell that spent most of `by`."""
    rows = _spending_rows(connection, account)
    if not rows:
        return NOTHING, None
    if cells:
        rest = rows[EVERYTHING_ELSE]
        rows = {cell_row_name(cell): rows.get(cell_row_name(cell), rest) for cell in cells}
    largest = Units(*(max(amounts) for amounts in zip(*map(astuple, rows.values()), strict=True)))
    worst = max(rows, key=lambda cell: getattr(rows[cell], by))
    return largest, None if worst == EVERYTHING_ELSE else worst[1:]


def cell_row_name(cell: str) -> str:
    """Return how a cell is called in its row, which the row of everything else is not."""
    return f"={cell}"


def _spending_rows(connection: StatementConnection, account: str) -> dict[str, Units]:
    found = connection.execute(_ROWS, {"of": account})
    return {row.cell: Units(row.epsilon, row.delta, row.rho, row.slip) for row in found}


def _name_cells(connection: Connection, account: str, cells: frozenset[str]) -> None:
    """Give cells that have no row the spending of everything else: they were part of it."""
    for names in _batch_names(cells):
        known = connection.scalars(
            select(spending.c.cell).where(spending.c.account == account, spending.c.cell.in_(names))
        )
        missing = set(names).difference(known)
        if not missing:
            continue
        rest = connection.execute(
            select(*_CURRENCIES).where(
                spending.c.account == account, spending.c.cell == EVERYTHING_ELSE
            )
        ).mappings()
        amounts = dict(rest.one())
        connection.execute(
            insert(spending),
            [{"account": account, "cell": name, **amounts} for name in sorted(missing)],
        )


def _add(
    connection: Connection,
    account: str,
    names: list[str] | None,
    *,
    cost: Units,
    limits: Units,
) -> int:
    """Add `cost` to the rows of the cells called `names`, None for all, where there is room for it."""
    amounts, most = asdict(cost), asdict(limits)
    limited = tuple(name for name, limit in most.items() if limit < MOST)
    values: dict[str, object] = {"of": account}
    values |= {f"{name}_cost": amount for name, amount in amounts.items()}
    values |= {f"{name}_full": MOST - amount for name, amount in amounts.items()}
    values |= {f"{name}_room": most[name] - amounts[name] for name in limited}
    if names is not None:
        values["names"] = names
    return connection.execute(_build_addition(limited, is_part=names is not None), values).rowcount


@cache
def _build_addition(limited: tuple[str, ...], *, is_part: bool) -> Update:
    """Return the update that adds a cost wherever all `limited` currencies have room for it."""
    has_room = [spending.c[name] <= bindparam(f"{name}_room") for name in limited]
    # A currency without a limit stops at MOST, which is above every limit it may get later.
    sums = {
        column: case(
            (column >= bindparam(f"{column.name}_full"), MOST),
            else_=column + bindparam(f"{column.name}_cost"),
        )
        for column in _CURRENCIES
    }
    named = [spending.c.cell.in_(bindparam("names", expanding=True))] if is_part else []
    return update(spending).where(_OF_ACCOUNT, *named, *has_room).values(sums)


def _batch_names(cells: frozenset[str]) -> Iterator[list[str]]:
    names = sorted(map(cell_row_name, cells))
    for start in range(0, len(names), _BATCH_SIZE):
        yield names[start : start + _BATCH_SIZE]
