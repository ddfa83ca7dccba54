"""What a publication leaves beside its rows: the custodian's registry and the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from discreet.api.criteria import CriterionLevel, criteria_by_option
from discreet.engines.address import without_password
from discreet.engines.connect import opened_table
from discreet.engines.engine import ArrowTable
from discreet.errors import InvalidManifest, OutputRefused
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.release.registry import Registry
    from discreet.release.release import Release

_KEPT_CHOICES = (
    *("policy", "quasi", "sensitive", "unit", "hierarchies", "table", "delimiter", "encoding"),
    *("against", "method", "suppress", "utility", "weights", "target", "seconds", "suppressed"),
    *("leave_out", "options", "weight", "household", "publish_weight"),
    *("earlier", "accept_risk"),
)


def kept_choices() -> tuple[str, ...]:
    """Return what the manifest keeps of a call: not where things go and how they are shown."""
    return (*_KEPT_CHOICES, *criteria_by_option())


def current_time() -> str:
    """Return the time of a publication, to the second."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def open_registry(
    source: object,
    *,
    policy: object,
    table: str | None,
    made: str | None = None,
    remembers: bool = True,
) -> Registry | None:
    """Return where releases of this table are remembered: beside its policy, else beside it.

    A frame has no place, and None. Without `remembers`, earlier releases are read and none is added.
    """
    from discreet.release.registry import Registry, make_subject, registry_folders

    if not isinstance(source, (str, Path)):
        return None
    subject = make_subject(table or PurePath(source).stem, policy=policy, source=str(source))
    folders = registry_folders(policy=policy, source=str(source))
    return Registry(subject, folders, made or current_time(), remembers=remembers)


def choose_manifest_path(output: str | Path, *, manifest: Path | None, force: bool) -> Path:
    """Return where the manifest goes; another file is not replaced by it, unless `force` says so."""
    from discreet.release.manifest import manifest_path, read_manifest
    from discreet.writing import require_writable_path

    path = manifest or manifest_path(output)
    require_writable_path(path)
    if manifest is not None and path.exists() and not force:
        try:
            read_manifest(path)
        except InvalidManifest:
            raise OutputRefused(
                f"{path} exists and is no manifest. Name another file, or add --force to replace it."
            ) from None
    return path


def with_manifest(
    found: Release, path: Path, arguments: Mapping[str, Any], *, made: str
) -> Release:
    """Return the release with its manifest written to `path`, and its record kept."""
    from discreet.release.manifest import keep_record, write_manifest

    found = replace(found, manifest=str(path))
    keep_record(found, arguments=arguments, made=made)
    content = write_manifest(path, found, arguments=arguments, made=made)
    return replace(found, _manifest_content=content)


def read_rows(path: Path) -> ArrowTable:
    """Return the rows of a file that was just written."""
    with opened_table(path) as table:
        columns = [build.column(column.name) for column in table.columns]
        return table.engine.run(build.select(*columns, source=table.relation))


def plain_choice(value: object) -> Any:
    """Return a choice as JSON keeps it, and as its option reads it again."""
    if isinstance(value, (Path, CriterionLevel)):
        return str(value)
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, (tuple, list)):
        return [plain_choice(item) for item in value]
    return value
