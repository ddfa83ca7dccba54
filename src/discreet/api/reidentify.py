"""`discreet.reidentify`: the values behind pseudonyms, for the holder of the key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.api.deidentify import choose_pseudonyms, read_secret_key
from discreet.engines.caller_frames import to_frame_like
from discreet.engines.connect import opened_table
from discreet.engines.engine import Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import InvalidKey, SourceNotFound, WrongUsage
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.pseudonyms import undo_pseudonyms
from discreet.release.deidentify.tokens import TokenMapping, open_tokens


def reidentify(  # noqa: PLR0913 -- the options of `deidentify`
    source: object,
    *,
    key_file: str | Path | None = None,
    key_env: str | None = None,
    reversible: Sequence[str] | None = None,
    format_preserving: Sequence[str] | None = None,
    tokens: Sequence[str] | None = None,
    shift_dates: Sequence[str] | None = None,
    unit: str | None = None,
    mapping: str | Path | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> Any:
    """Return the rows of `source` with the values behind the pseudonyms that `deidentify` made.

    The rows come as the kind of frame that `source` is, in no promised order; a file or a database
    gives an Arrow table. Nothing is written. Values come back as text, format-preserving pseudonyms of integers as
    integers. Give the options that made the pseudonyms; the release's manifest names them.

    A wrong key is noticed in reversible columns and in those with random texts. Format-preserving
    pseudonyms and dates give wrong values instead: compare the key's fingerprint with the manifest.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        key_file: The file with the secret key.
        key_env: The variable with the secret key.
        reversible: Columns with pseudonyms that the key undoes.
        format_preserving: Columns with pseudonyms of the same form.
        tokens: Columns with random texts, which the mapping undoes.
        shift_dates: Dates that moved together by person.
        unit: The column that says whose dates they are; if it has pseudonyms, name it among them.
        mapping: The sealed file of random texts.
        table: Which table of the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    Raises:
        InvalidKey: There is no key, or the mapping was sealed with another one.
        UnsuitableValues: A value is not a pseudonym of this key.

    >>> import os, pyarrow
    >>> from discreet import deidentify
    >>> os.environ["EXAMPLE_KEY"] = "000102030405060708090a0b0c0d0e0f"
    >>> people = pyarrow.table({"name": ["Ann Lee", "Bob Ray"]})
    >>> options = {"key_env": "EXAMPLE_KEY", "reversible": ["name"]}
    >>> made = deidentify(people, method="pseudonymize", accept_risk="an example", **options)
    >>> sorted(reidentify(made.to_arrow(), **options)["name"].to_pylist())
    ['Ann Lee', 'Bob Ray']
    """
    columns = choose_pseudonyms(
        {
            "reversible": reversible,
            "format_preserving": format_preserving,
            "tokens": tokens,
            "shift_dates": shift_dates,
        }
    )
    if not columns:
        raise WrongUsage(
            "No column was named. Say which ones have pseudonyms: reversible, format_preserving, "
            "tokens or shift_dates."
        )
    key = read_secret_key(key_file, key_env)
    if key is None:
        raise InvalidKey("Only the key undoes pseudonyms. Give it with key_file or key_env.")
    book = _open_mapping(mapping, key, is_needed=bool(tokens))
    with (
        opened_table(
            source, table=table, delimiter=delimiter, encoding=encoding, memory_limit=memory
        ) as opened,
        ScratchEngine(opened.engine) as scratch,
    ):
        kept = Table(scratch, opened.relation, opened.columns, opened.label)
        query = undo_pseudonyms(kept, columns, key=key, unit=unit, tokens=book)
        return to_frame_like(source, scratch.run(query))


def _open_mapping(
    mapping: str | Path | None, key: SecretKey, *, is_needed: bool
) -> TokenMapping | None:
    if (mapping is not None) != is_needed:
        raise WrongUsage(
            "Random texts are undone by their mapping. Give both: tokens, the columns, and mapping, "
            "the sealed file."
        )
    if mapping is None:
        return None
    if not Path(mapping).is_file():
        raise SourceNotFound(
            f"There is no sealed mapping {mapping}. Name the file that was written."
        )
    return open_tokens(mapping, key=key)
