"""`discreet.reidentify`: the values behind pseudonyms, for the holder of the key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.api.deidentify import choose_pseudonyms, read_secret_key
from discreet.api.publication import current_time
from discreet.engines.address import without_password
from discreet.engines.caller_frames import to_frame_like
from discreet.engines.connect import opened_table
from discreet.engines.engine import Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import InvalidKey, OutputRefused, SourceNotFound, WrongUsage
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.pseudonyms import undo_pseudonyms
from discreet.release.deidentify.reidentification import (
    PseudonymManifest,
    Reidentified,
    UndoPlan,
    find_pseudonym_manifest,
    plan_undo,
    read_pseudonym_manifest,
    require_key_of,
)
from discreet.release.deidentify.tokens import TokenMapping, open_tokens
from discreet.release.registry import registry_folders, remember_reidentification
from discreet.release.write import Target, parse_target, write_rows
from discreet.writing import private_files, require_private


def reidentify(  # noqa: PLR0913 -- the options of the command
    source: object,
    *,
    output: str | Path | None = None,
    key_file: str | Path | None = None,
    key_env: str | None = None,
    manifest: str | Path | None = None,
    fingerprint: str | None = None,
    reversible: Sequence[str] | None = None,
    format_preserving: Sequence[str] | None = None,
    tokens: Sequence[str] | None = None,
    shift_dates: Sequence[str] | None = None,
    unit: str | None = None,
    mapping: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> Any:
    """Return the rows of `source` with the values behind the pseudonyms that `deidentify` made.

    Without `output`, the rows come as the kind of frame that `source` is, in no promised order; a
    file or a database gives an Arrow table. With it they are written, for their owner only, the
    custodian's registry notes who was looked up in what, and a `Reidentified` comes back. Values come
    back as text, format-preserving pseudonyms of integers as integers.

    The manifest of the release names the columns and the key. A key with another fingerprint is
    refused. Without a manifest, name the columns; for format-preserving pseudonyms and dates, of which
    another key would give wrong values, also the fingerprint of the key that made them.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        output: Where the rows go: a file or a folder that only its owner can read, or a table.
        key_file: The file with the secret key.
        key_env: The variable with the secret key.
        manifest: The manifest of the release; by default the one beside `source`.
        fingerprint: The fingerprint of the key that made the pseudonyms, where there is no manifest.
        reversible: Columns with pseudonyms that the key undoes; by default those of the manifest.
        format_preserving: Columns with pseudonyms of the same form.
        tokens: Columns with random texts, which the mapping undoes.
        shift_dates: Dates that moved together by person.
        unit: The column that says whose dates they are; if it has pseudonyms, name it among them.
        mapping: The sealed file of random texts.
        force: Replace what is at `output`.
        dry_run: Say what would be undone, and read no row.
        table: Which table of the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    Raises:
        InvalidKey: There is no key, or it is not the one that made the pseudonyms.
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
    named = choose_pseudonyms(
        {
            "reversible": reversible,
            "format_preserving": format_preserving,
            "tokens": tokens,
            "shift_dates": shift_dates,
        }
    )
    stated = _read_manifest(source, manifest)
    plan = plan_undo(named, unit=unit, manifest=stated, has_mapping=mapping is not None)
    key = read_secret_key(key_file, key_env)
    if key is None:
        raise InvalidKey("Only the key undoes pseudonyms. Give it with key_file or key_env.")
    require_key_of(key, plan, fingerprint=fingerprint, manifest=stated)
    book = _open_mapping(mapping, key, plan)
    target = None if output is None else _private_target(output, source, force=force)
    found = _describe_plan(source, plan, key, stated)
    if dry_run:
        return found
    with (
        opened_table(
            source, table=table, delimiter=delimiter, encoding=encoding, memory_limit=memory
        ) as opened,
        ScratchEngine(opened.engine) as scratch,
    ):
        kept = Table(scratch, opened.relation, opened.columns, opened.label)
        query = undo_pseudonyms(kept, plan.columns, key=key, unit=plan.unit, tokens=book)
        if target is None:
            return to_frame_like(source, scratch.run(query))
        _remember_undo(found, target)
        with private_files():
            return replace(found, output=write_rows(scratch, query, target))


def _read_manifest(source: object, manifest: str | Path | None) -> PseudonymManifest | None:
    path = find_pseudonym_manifest(source) if manifest is None else Path(manifest)
    return None if path is None else read_pseudonym_manifest(path)


def _private_target(output: str | Path, source: object, *, force: bool) -> Target:
    target = parse_target(output, force=force)
    path = getattr(target, "path", None)
    if path is not None and path.exists():
        if isinstance(source, (str, Path)) and Path(source).exists() and path.samefile(source):
            raise OutputRefused(f"{path} is the source itself. Name another file.")
        require_private(path)
    return target


def _describe_plan(
    source: object, plan: UndoPlan, key: SecretKey, stated: PseudonymManifest | None
) -> Reidentified:
    kinds = {name: kind.name for name, kind in plan.columns.items()}
    undone = (
        f"{len(kinds)} {'column' if len(kinds) == 1 else 'columns'} undone: {', '.join(kinds)}."
    )
    stays = [f"'{name}' stays: {why}." for name, why in plan.left.items()]
    return Reidentified(
        source=without_password(str(source)) if isinstance(source, (str, Path)) else "a frame",
        verdict=" ".join([undone, *stays]),
        columns=kinds,
        left=dict(plan.left),
        unit=plan.unit,
        key=key.fingerprint,
        manifest=None if stated is None else str(stated.path),
    )


def _remember_undo(found: Reidentified, target: Target) -> None:
    """Write into the custodian's registry, before any value is written, that pseudonyms are undone."""
    folders = registry_folders(policy=None, source=found.source)
    remember_reidentification(
        folders,
        made=current_time(),
        source=found.source,
        output=target.place,
        columns=dict(found.columns),
        key=found.key,
    )


def _open_mapping(
    mapping: str | Path | None, key: SecretKey, plan: UndoPlan
) -> TokenMapping | None:
    is_needed = any(kind.name == "token" for kind in plan.columns.values())
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
