"""`discreet.anonymize`: rows that meet their criteria, in memory or written with their manifest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from discreet.api.criteria import Levels, make_criteria, read_choices
from discreet.api.publication import (
    choose_manifest_path,
    current_time,
    kept_choices,
    open_registry,
    plain_choice,
    read_rows,
    with_manifest,
)
from discreet.errors import WrongUsage
from discreet.policy import model
from discreet.release.anonymization import anonymize_source
from discreet.release.deidentify.keys import read_key_file
from discreet.release.manifest import manifest_content
from discreet.release.options import AnonymizeOptions
from discreet.release.release import Release

# The same names as on the command line; what a manifest keeps under another one.
_KEPT_AS = {"seconds": "time"}
_WORDS_OF_OPTIONS = (
    *("quasi", "sensitive", "unit", "hierarchies", "method", "suppress", "utility", "target"),
    *("weight", "household"),
)


def anonymize(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: model.Policy | str | Path | None = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    unit: str | None = None,
    weight: str | None = None,
    household: str | None = None,
    publish_weight: bool = False,
    hierarchies: str | Path | None = None,
    k: int | None = None,
    l: Levels | None = None,
    t: Levels | None = None,
    alpha: Levels | None = None,
    beta: Levels | None = None,
    disclosure: Levels | None = None,
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    method: str | None = None,
    suppress: float | None = None,
    utility: model.Utility | None = None,
    weights: Mapping[str, float] | None = None,
    target: str | None = None,
    options: Mapping[str, Any] | None = None,
    leave_out: Sequence[str] | None = None,
    suppressed: Literal["keep", "drop"] = "keep",
    time: float | None = None,
    against: object = None,
    earlier: Sequence[str] = (),
    accept_risk: str | None = None,
    expected: str | None = None,
    output: str | Path | None = None,
    manifest: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    key_file: str | Path | None = None,
    frontier: bool = False,
    minimal: bool = False,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    **criteria: Levels,
) -> Release:
    """Publish the rows of `source` so that they meet the criteria, with little loss.

    The rows are written, read again, measured and attacked before they are handed out. Without
    `output` they stay in memory: the release has them as `frame` (the kind of frame that came in),
    `to_pandas()`, `to_polars()` and `to_arrow()`, its manifest as `manifest_content`, and is not
    remembered as an earlier release. With
    `output` they are in a file or a table, with a manifest beside it, and the registry beside the
    policy or the source remembers them.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; what is given here wins over it.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        unit: The column that says whose rows they are; by default each row is a person.
        weight: The column of a survey's sampling weights: how many people of the population a row stands for.
        household: The column that links the people of a household; it is not published.
        publish_weight: Publish the weights, which a release leaves out otherwise.
        hierarchies: A folder with files named `…_hierarchy_<column>.csv`.
        k: k-anonymity: people per class.
        l: l-diversity: `3`, `"entropy:3"`, or one for each column, `{"diagnosis": "entropy:3"}`.
        t: t-closeness: `0.2`, `"ordered:0.2"`, or one for each column.
        alpha: (α,k)-anonymity: the largest share of one value in a class, with `k`.
        beta: β-likeness: how far a value's share may rise, relatively.
        disclosure: δ-disclosure: how far the log of a value's share may change.
        k_map: People of the population per class.
        presence: Bounds on the chance that a person of the population is in the table.
        method: `local` (default), `full-domain`, `mondrian`, `relaxed-mondrian`, `cells`, or one of an
            installed package.
        suppress: The share of rows that may be suppressed.
        utility: What full-domain recoding keeps small.
        weights: What columns count for, such as `{"age": 2}`.
        target: The column that a classifier is to predict.
        options: Options of the method, such as `{"search": "optimal"}` of cells.
        leave_out: Columns that are not published, besides those that the policy leaves out.
        suppressed: Whether suppressed rows stay, as `*`, or are left out.
        time: Seconds that a search may take where the whole lattice is too large.
        against: The population, for `k_map` and `presence`.
        earlier: Releases of the same people made before.
        accept_risk: Why it is published even if attacks learn more than the policy tolerates.
        expected: The SHA-256 that the written file must have, or it is not published.
        output: Where to write: a CSV or Parquet file, a folder, a table. None: in memory only.
        manifest: Where the manifest goes; by default `OUT.release.json` beside the output.
        force: Replace what is at `output`.
        dry_run: Search and report only; nothing is published, and no rows are handed out.
        key_file: The secret of steps with chance.
        frontier: Also report what other values of k would cost.
        minimal: Also list every minimal full-domain generalization.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.
        criteria: Criteria of installed packages, by the names of their options.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria; the message says how far one can get.
        ReleaseFailed: The written rows, read again, fail a criterion; nothing was published.
        RiskNotTolerated: Attacks on the rows learn more than is tolerated; nothing was published.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [31, 32, 47, 48], "ill": ["flu", "gout", "gout", "flu"]})
    >>> release = anonymize(people, quasi=["age"], sensitive=["ill"], k=2, l=2)
    >>> release.k, release.classes, release.frame.column("age").to_pylist()
    (2, 2, ['[31, 32]', '[31, 32]', '[47, 48]', '[47, 48]'])
    """
    given = dict(locals())
    if dry_run and (output is not None or manifest is not None):
        raise WrongUsage("A dry run publishes nothing. Leave out dry_run, or output and manifest.")
    named = {"k": k, "l": l, "t": t, "alpha": alpha, "beta": beta, "disclosure": disclosure}
    choices = read_choices({**named, "k_map": k_map, "presence": presence, **criteria})
    given |= {"hierarchies": Path(hierarchies) if hierarchies is not None else None, **choices}
    asked = AnonymizeOptions(
        criteria=make_criteria(choices),
        weights=weights or {},
        options=options or {},
        leave_out=leave_out or (),
        publish_weight=publish_weight or None,
        **{name: given[name] for name in _WORDS_OF_OPTIONS},
    )
    made = current_time()
    arguments: dict[str, Any] = {
        "options": asked,
        "table": table,
        "against": against,
        "suppressed": suppressed,
        "seconds": time,
        "key": None if key_file is None else read_key_file(Path(key_file)).secret,
        "expected": expected,
        "earlier": tuple(map(str, earlier)),
        "accept_risk": accept_risk,
        "frontier": frontier,
        "minimal": minimal,
        "delimiter": delimiter,
        "encoding": encoding,
        "memory_limit": memory,
        "progress": progress,
        "registry": open_registry(
            source, policy=policy, table=table, made=made, remembers=output is not None
        ),
    }
    if dry_run:
        return anonymize_source(source, policy, **arguments)
    if output is None:
        found = _anonymize_in_memory(source, policy, arguments)
        content = manifest_content(found, arguments=_kept_arguments(given), made=made)
        return replace(found, _manifest_content=content)
    path = choose_manifest_path(
        output, manifest=None if manifest is None else Path(manifest), force=force
    )
    found = anonymize_source(source, policy, output=output, force=force, manifest=path, **arguments)
    return with_manifest(found, path, _kept_arguments(given), made=made)


def _kept_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the manifest keeps of the call, as the command line reads it again."""
    kept = {name: given[_KEPT_AS.get(name, name)] for name in kept_choices()}
    named = {name: kept[name] if _is_named(kept[name]) else None for name in ("policy", "against")}
    source = given["source"] if _is_named(given["source"]) else None
    return {
        name: plain_choice(value) for name, value in {**kept, **named, "source": source}.items()
    }


def _is_named(value: object) -> bool:
    return isinstance(value, (str, Path))


def _anonymize_in_memory(
    source: object, policy: model.Policy | str | Path | None, arguments: Mapping[str, Any]
) -> Release:
    """Publish to a folder of our own, so that the rows are read again, and hand them out."""
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as folder:
        found = anonymize_source(
            source, policy, output=Path(folder) / "release.parquet", **arguments
        )
        rows = read_rows(Path(folder) / "release.parquet")
    in_memory = replace(found, output=None, sha256=None, bytes=None)
    return in_memory.with_rows(rows, source)
