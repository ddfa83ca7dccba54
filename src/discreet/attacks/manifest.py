"""What a published manifest reveals to an outsider: the roles of columns, and what group names mean."""

from __future__ import annotations

import json
from pathlib import Path, PurePath
from typing import Any

from discreet.errors import DiscreetError, InvalidManifest, SourceNotFound
from discreet.measure.roles import select_table
from discreet.policy import model
from discreet.policy.hierarchy import Hierarchy
from discreet.policy.load import parse_policy
from discreet.policy.model import KAnonymity

NAME = "release.json"


def find_manifest(release: object) -> Path | None:
    """Return the manifest that stands beside a released file and is of it, or None."""
    if not isinstance(release, (str, Path)) or "://" in str(release):
        return None
    path = Path(release)
    for beside in (path.parent / f"{path.name}.{NAME}", path.parent / NAME):
        if beside.is_file() and _read_output_name(beside) == path.name:
            return beside
    return None


def read_published(path: Path) -> model.TablePolicy:
    """Return the table of the policy that the manifest in `path` publishes.

    A hierarchy in a file that did not come along is left out: an outsider lacks it as well.

    Raises:
        SourceNotFound: There is no such file.
        InvalidManifest: It holds no policy.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
        tables: dict[str, Any] = content["policy"]["tables"]
        columns: dict[str, Any] = next(iter(tables.values()))["columns"]
    except FileNotFoundError:
        raise SourceNotFound(f"There is no manifest {path}.") from None
    except (OSError, ValueError, KeyError, TypeError, StopIteration, AttributeError):
        raise _invalid_manifest(path) from None
    for column in columns.values():
        file = (column.get("hierarchy") or {}).get("file")
        if file is not None and not (path.parent / file).is_file():
            del column["hierarchy"]
    try:
        policy = parse_policy(json.dumps({"tables": tables}), path=path)
    except DiscreetError:
        raise _invalid_manifest(path) from None
    return next(iter(policy.tables.values()))


def describe_release(
    release: object,
    *,
    policy: model.Policy | None,
    label: str,
    table: str | None = None,
    manifest: Path | None = None,
) -> model.TablePolicy | None:
    """Return what is said of a release's columns: by the policy's table, else by its manifest.

    Args:
        release: Where it is; its manifest is looked for beside it.
        policy: The policy, which wins over the manifest.
        label: What the release is called, to find it among the policy's tables.
        table: The table's name in the policy.
        manifest: The manifest, where it stands elsewhere.
    """
    if policy is not None:
        return select_table(policy, label=label, name=table)
    found = manifest or find_manifest(release)
    return read_published(found) if found is not None else None


def hierarchies_of(table: model.TablePolicy | None) -> dict[str, Hierarchy]:
    """Return what a policy's table says of how values become coarser, by column."""
    columns = table.columns if table is not None else ()
    return {column.name: column.hierarchy for column in columns if column.hierarchy is not None}


def promised_k(table: model.TablePolicy | None) -> int:
    """Return how many people a policy's table demands to look alike; without a word of it, two."""
    criteria = table.criteria if table is not None else ()
    return max((one.k for one in criteria if isinstance(one, KAnonymity)), default=2)


def _invalid_manifest(path: Path) -> InvalidManifest:
    return InvalidManifest(
        f"{path} has no policy. Name the OUT.release.json that `discreet anonymize` wrote."
    )


def _read_output_name(path: Path) -> str | None:
    try:
        output = json.loads(path.read_text("utf-8"))["release"]["output"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return PurePath(str(output)).name if output else None
