"""`df.discreet`: the verbs that read a table, on frames of pandas and polars."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import discreet

# The functions of `discreet` whose first argument is a table.
VERBS = (
    *("anonymize", "assess", "check", "choose_factor", "collect", "deidentify", "draft_policy"),
    *("explain_learning", "explain_synthesis", "learn", "open", "statistics", "synthesize"),
)


class FrameAccessor:
    """The verbs of discreet on one data frame.

    `df.discreet.assess(quasi=["sex"])` is `discreet.assess(df, quasi=["sex"])`: each function of `discreet` that
    reads a table, with the same arguments.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in VERBS:
            raise AttributeError(
                f"A frame has no verb '{name}' of discreet; it has {', '.join(self.__dir__())}."
            )
        return _bind_frame(getattr(discreet, name), self._frame)

    def __dir__(self) -> list[str]:
        return sorted([*VERBS, "ask", "attack"])

    def ask(self, question: str, policy: Any, *, ledger: Any = None, **options: Any) -> Any:
        """Return the private answer to one question about the frame.

        Args:
            question: SQL aggregates, such as `SELECT count(*) FROM patients`.
            policy: The policy that has the frame's table, with its unit and budget.
            ledger: Where the budget is kept.
            **options: Those of `discreet.Curator.ask`: `epsilon`, `delta` and others; `table` where the policy has several.
        """
        table = options.pop("table", None)
        with discreet.open(self._frame, policy, ledger=ledger, table=table) as curator:
            return curator.ask(question, **options)

    def attack(self, name: str, **options: Any) -> Any:
        """Return what an attack learns from the frame; see `discreet.attack`."""
        return discreet.attack(name, self._frame, **options)


def register_accessors() -> None:
    """Give data frames of pandas and polars their `discreet`, whichever of them is loaded or can be.

    >>> import pandas as pd
    >>> register_accessors()
    >>> frame = pd.DataFrame({"sex": ["F", "M", "F"], "age": [31, 52, 31]})
    >>> frame.discreet.assess(quasi=["sex", "age"]).k
    1
    """
    for register in (_register_pandas, _register_polars):
        try:
            register()
        except ImportError:
            continue


def _register_pandas() -> None:
    import pandas as pd

    if not hasattr(pd.DataFrame, "discreet"):
        pd.api.extensions.register_dataframe_accessor("discreet")(FrameAccessor)


def _register_polars() -> None:
    import polars as pl

    if not hasattr(pl.DataFrame, "discreet"):
        pl.api.register_dataframe_namespace("discreet")(FrameAccessor)


def _bind_frame(verb: Callable[..., Any], frame: Any) -> Callable[..., Any]:
    """Return a verb of one frame, with the verb's own signature and documentation."""
    bound = partial(verb, frame)
    bound.__doc__ = verb.__doc__
    return bound
