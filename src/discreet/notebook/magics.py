"""`%discreet` and `%%discreet`: a notebook opens a table once, and then asks it by cells of SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from discreet.answer.curator import Curator, open_curator
from discreet.errors import WrongUsage
from discreet.notebook.accessors import register_accessors

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


@magics_class
class QuestionMagics(Magics):
    """One open table, and questions about it.

    `%discreet patients.csv --policy policy.yaml --ledger budget.sqlite` opens a table, which may also be the name of
    a frame. `%discreet` alone shows what is left. `%%discreet --epsilon 0.5` asks the SQL of its cell.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._names: dict[str, Any] = shell.user_ns
        self._curator: Curator | None = None

    @magic_arguments()
    @argument(
        "source", nargs="?", help="a table to open: a file, an address or the name of a frame"
    )
    @argument("--policy", help="the policy that has the table, with its unit and budget")
    @argument("--table", help="the table's name in the policy, where it has several")
    @argument("--ledger", help="the file that keeps the budget")
    @argument("--epsilon", help="what the question of the cell may cost")
    @argument("--delta", default="0", help="the delta of the question; 0 when not given")
    @argument("--explain", action="store_true", help="show price and error instead of asking: free")
    @argument(  # pyright: ignore[reportUntypedFunctionDecorator] -- IPython has no types here
        "--into", help="the name that the answer gets in the notebook"
    )
    @line_cell_magic
    def discreet(self, line: str, cell: str | None = None) -> Any:
        """Open a table (`%discreet SOURCE --policy FILE`), show its budget (`%discreet`) or ask it (`%%discreet --epsilon E`)."""
        given = parse_argstring(self.discreet, line)
        if given.source is not None:
            self._open_table(given)
        return self._show_budget() if cell is None else self._ask_question(given, cell)

    def close(self) -> None:
        """Close the table that is open, if any."""
        if self._curator is not None:
            self._curator.close()
        self._curator = None

    def _open_table(self, given: Any) -> None:
        if given.policy is None:
            raise WrongUsage(
                f"To ask '{given.source}', a policy must say whom it protects: add `--policy FILE`. "
                "`discreet.draft_policy` drafts one."
            )
        source = self._names.get(given.source, given.source)
        policy = self._names.get(given.policy, given.policy)
        opened = open_curator(source, policy, ledger=given.ledger, table=given.table)
        self.close()
        self._curator = opened

    def _ask_question(self, given: Any, question: str) -> Any:
        if given.epsilon is None:
            raise WrongUsage("A question has a price: write `%%discreet --epsilon 0.5`.")
        terms = {"epsilon": given.epsilon, "delta": given.delta}
        curator = self._require_curator()
        ask = curator.explain if given.explain else curator.ask
        answer = ask(question.strip().rstrip(";"), **terms)
        if given.into is not None:
            self._names[given.into] = answer
        return answer

    def _show_budget(self) -> Any:
        return self._require_curator().budget()

    def _require_curator(self) -> Curator:
        if self._curator is None:
            raise WrongUsage("No table is open: write `%discreet FILE --policy FILE` first.")
        return self._curator


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Load what `%load_ext discreet` promises: `%discreet`, `%%discreet` and `df.discreet`."""
    shell.register_magics(QuestionMagics)
    register_accessors()
