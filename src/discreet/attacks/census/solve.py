"""Every table of people that has the published statistics, or what can be proved about all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

from discreet.attacks.census.block import Cell, CensusBlock
from discreet.attacks.census.encoding import (
    LARGEST_CODE,
    CellEncoding,
    Encoding,
    PersonEncoding,
    add_published_statistics,
    possible_cells,
)
from discreet.errors import MissingExtra, WrongUsage

People: TypeAlias = "Counter[Cell]"
MOST_CELLS = 20_000  # a count for each: more of them take longer than the values of a few people
MOST_PERSONS = 40


@dataclass(frozen=True)
class Solved:
    """What the published statistics allow.

    Attributes:
        encoding: How the unknown people were written down: `cells` or `persons`.
        tables: Tables of people that fit, at most as many as were asked for.
        is_complete: Whether `tables` are all there are.
        certain: Records that are proved to be in every table that fits.
        possible: Records that no table was found without; `certain` are among them.
        guaranteed: How many records the first table shares with every other, at least.
        is_settled: Whether time sufficed to prove everything.
    """

    encoding: str
    tables: tuple[People, ...]
    is_complete: bool
    certain: People
    possible: People
    guaranteed: int
    is_settled: bool


def solve_block(
    block: CensusBlock, *, most: int = 1000, seconds: float = 60.0, encoding: str | None = None
) -> Solved:
    """Return the tables of people that have the statistics of `block`, and what all of them share.

    At most `most` tables are listed; after that, and within `seconds` of the solver, records are proved
    to be in all of them. `encoding` forces `cells` or `persons`.

    Raises:
        MissingExtra: OR-Tools is not installed.
        WrongUsage: The block is too large.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingExtra(what="Reconstruction", extra="attack") from None
    unknown = encode_block(block, encoding=encoding)
    search = _SolutionSearch(unknown, cp_model, seconds)
    tables, status = search.list_tables(most)
    is_complete = status in ("optimal", "infeasible")
    if not tables:
        no_people: People = Counter()
        return Solved(unknown.name, (), is_complete, no_people, no_people, 0, is_complete)
    if is_complete:
        common = _common_records(tables)
        guaranteed = min((tables[0] & other).total() for other in tables)
        return Solved(unknown.name, tables, True, common, common, guaranteed, True)
    guaranteed, is_proved = search.overlap(tables[0])
    certain, possible = search.prove(_common_records(tables))
    is_settled = is_proved and certain == possible
    return Solved(unknown.name, tables, False, certain, possible, guaranteed, is_settled)


def encode_block(block: CensusBlock, *, encoding: str | None = None) -> Encoding:
    """Return the block's unknown people and its statistics as a model of the solver."""
    cells = None if encoding == "persons" else possible_cells(block, most=MOST_CELLS)
    if cells is None and encoding != "cells" and block.people <= MOST_PERSONS:
        if block.size > LARGEST_CODE:
            raise WrongUsage(
                f"{block.label} has more possible records than can be counted. Leave variables out."
            )
        unknown: Encoding = PersonEncoding(block)
    elif cells is None:
        raise WrongUsage(
            f"{block.label} has {block.people:,} people and more than {MOST_CELLS:,} possible records: "
            "too many to reconstruct. Attack a smaller block, or leave variables out."
        )
    else:
        unknown = CellEncoding(block, cells)
    add_published_statistics(unknown, block)
    return unknown


def _common_records(tables: tuple[People, ...]) -> People:
    """Return the records that are in all tables, as often as in the one that has the fewest."""
    common = tables[0]
    for table in tables[1:]:
        common = common & table
    return common


@dataclass
class _SolutionSearch:
    """A model, and the time of the solver that is left for it."""

    unknown: Encoding
    cp: Any
    seconds: float

    def list_tables(self, most: int) -> tuple[tuple[People, ...], str]:
        """Return different tables that fit, and how the search for them ended."""
        found: list[People] = []
        read = self.unknown.read

        class Listed(self.cp.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                found.append(read(self.value))
                if len(found) >= most:
                    self.stop_search()

        solver, status = self._run(self.unknown.model, Listed(), lists_all=True)
        del solver
        return tuple(found), status

    def overlap(self, table: People) -> tuple[int, bool]:
        """Return how many records of `table` every other has at least, and whether that is exact.

        What the adversary picked shares so many with the truth, which is one of the tables
        (solution variability; Abowd et al. 2023).
        """
        model = self.unknown.model.clone()
        model.minimize(sum(self._shared_counts(model, table)))
        solver, status = self._run(model, None, share=0.4)
        if status == "unknown":
            return 0, False
        bound = round(solver.best_objective_bound)
        return max(0, bound), status == "optimal"

    def prove(self, common: People) -> tuple[People, People]:
        """Return records that are proved to be in all tables, and those not found missing from one."""
        possible = common
        while possible.total():
            model = self.unknown.model.clone()
            shared = sum(self._shared_counts(model, possible))
            model.add(shared <= possible.total() - 1)
            model.minimize(shared)
            solver, status = self._run(model, None, share=0.5)
            if status == "infeasible":
                return possible, possible
            if status == "unknown":
                return self._prove_one_by_one(possible)
            possible = possible & self.unknown.read(solver.value)
        return possible, possible

    def _prove_one_by_one(self, possible: People) -> tuple[People, People]:
        certain: People = Counter()
        for cell in list(possible):
            # Another record's counterexample may have decided this one already.
            if cell not in possible:
                continue
            model = self.unknown.model.clone()
            model.add(self.unknown.record(cell) <= possible[cell] - 1)
            solver, status = self._run(model, None, share=0.2)
            if status == "infeasible":
                certain[cell] = possible[cell]
            elif status != "unknown":
                possible = possible & self.unknown.read(solver.value)
        return certain & possible, possible

    def _shared_counts(self, model: Any, table: People) -> list[Any]:
        shared: list[Any] = []
        for cell, count in table.items():
            kept = model.new_int_var(0, count, "")
            model.add_min_equality(kept, [self.unknown.record(cell), count])
            shared.append(kept)
        return shared

    def _run(
        self, model: Any, callback: Any, *, lists_all: bool = False, share: float = 0.5
    ) -> tuple[Any, str]:
        solver = self.cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.enumerate_all_solutions = lists_all
        solver.parameters.max_time_in_seconds = max(0.01, self.seconds * share)
        status = solver.status_name(solver.solve(model, callback)).lower()
        self.seconds -= solver.wall_time
        return solver, status
