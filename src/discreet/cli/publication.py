"""A release from the words of the command line, with its manifest, and from a manifest again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import output
from discreet.cli.file_collisions import refuse_collisions
from discreet.cli.release_parameters import CriterionLevel, criteria_of
from discreet.engines.address import without_password
from discreet.errors import InvalidManifest, OutputRefused, WrongUsage
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.release.manifest import Manifest
    from discreet.release.registry import Registry, RegistryRecord

# What the manifest keeps of a call; the rest says where things go and how they are shown.
KEPT_CHOICES = (
    *("policy", "quasi", "sensitive", "unit", "hierarchies", "table", "delimiter", "encoding"),
    *("k", "l", "t", "alpha", "beta", "disclosure", "k_map", "presence", "against"),
    *("method", "suppress", "utility", "weights", "target", "seconds", "suppressed"),
    *("earlier", "accept_risk"),
)


def publish_release(
    source: str, choices: dict[str, Any], *, expected: str | None = None
) -> Release:
    """Return the release that the words ask for, written with its manifest.

    With `expected`, nothing is published unless the file has that SHA-256.
    """
    from discreet.release.anonymization import anonymize
    from discreet.release.options import AnonymizeOptions

    arguments = {
        "source": _plain_choice(source),
        **{name: _plain_choice(choices[name]) for name in KEPT_CHOICES},
    }
    out = None if choices["dry_run"] else choices["out"]
    manifest = _manifest_target(choices) if out is not None else None
    made = datetime.now(UTC).replace(microsecond=0).isoformat()
    refuse_collisions(
        (choices["policy"], choices["against"], choices["key_file"]),
        {"the rows": out, "the manifest": manifest, "the report": choices["report"]},
        source=source,
    )
    wishes = AnonymizeOptions(
        criteria=criteria_of(choices),
        weights=choices["weights"] or {},
        **{
            name: choices[name]
            for name in (
                *("quasi", "sensitive", "unit", "hierarchies"),
                *("method", "suppress", "utility", "target"),
            )
        },
    )
    with output.progress() as step:
        found = anonymize(
            source,
            choices["policy"],
            output=out,
            wishes=wishes,
            key=_read_secret(choices["key_file"]),
            expected=expected,
            memory_limit=choices["memory"],
            progress=step,
            manifest=manifest,
            registry=registry_for(source, choices, made=made),
            **{
                name: choices[name]
                for name in (
                    *("table", "against", "suppressed", "seconds", "force"),
                    *("delimiter", "encoding", "frontier", "minimal", "earlier", "accept_risk"),
                )
            },
        )
    return _with_manifest(found, manifest, arguments, made=made) if out is not None else found


def replay_release(path: Path, choices: dict[str, Any]) -> Release:
    """Make the release of a manifest again; a file that differs is an error."""
    from discreet.cli.anonymize import command
    from discreet.release.manifest import read_manifest, require_unchanged

    manifest = read_manifest(path)
    record = _record(manifest, path)
    require_unchanged(record)
    arguments = dict(record.content["arguments"])
    source = arguments.pop("source", None)
    if not isinstance(source, str) or source == "-":
        raise WrongUsage(f"{path} does not name a source that can be read again.")
    out = choices["out"] or manifest.output
    if out is None or out.startswith("table "):
        raise WrongUsage(f"The release of {path} went to {out or 'no file'}. Say where with -o.")
    if manifest.sha256 is not None and Path(out).suffixes != Path(str(manifest.output)).suffixes:
        raise WrongUsage(
            f"The release of {path} is {manifest.output}: a file of another kind cannot be the same. "
            "Name one with the same ending."
        )
    context = click.Context(command)
    types = {parameter.name: parameter for parameter in command.params}
    restored = {
        name: types[name].type_cast_value(context, value) if value is not None else value
        for name, value in arguments.items()
        if name in KEPT_CHOICES
    }
    again = {**choices, **restored, "out": out}
    if choices["manifest"] is None and Path(str(out)) == Path(str(manifest.output)):
        again["manifest"] = path
    return publish_release(source, again, expected=manifest.sha256)


def registry_for(source: str, choices: dict[str, Any], *, made: str | None = None) -> Registry:
    """Return where releases of this table are remembered: beside its policy, else beside it."""
    from discreet.release.registry import Registry, make_subject, registry_folders

    policy, table = choices["policy"], choices["table"] or PurePath(source).stem
    subject = make_subject(table, policy=policy, source=source)
    now = made or datetime.now(UTC).replace(microsecond=0).isoformat()
    return Registry(subject, registry_folders(policy=policy, source=source), now)


def _record(manifest: Manifest, path: Path) -> RegistryRecord:
    """Return what the custodian's registry has of a manifest's release."""
    from discreet.release.registry import find_record, registry_folders

    policy, source = (manifest.arguments.get(name) for name in ("policy", "source"))
    folders = registry_folders(policy=policy, source=source)
    record = find_record(folders, manifest.id) if manifest.id else None
    if record is None:
        places = " or ".join(str(folder) for folder in folders)
        raise InvalidManifest(
            f"The release of {path} is not in {places}: only its custodian's registry knows what it was "
            "made from. Run where it was made, or bring the registry back."
        )
    return record


def _with_manifest(
    found: Release, path: Path | None, arguments: dict[str, Any], *, made: str
) -> Release:
    from discreet.release.manifest import keep_record, write_manifest

    if path is None:
        return found
    found = replace(found, manifest=str(path))
    keep_record(found, arguments=arguments, made=made)
    write_manifest(path, found, arguments=arguments, made=made)
    return found


def _manifest_target(choices: dict[str, Any]) -> Path:
    """Return where the manifest goes; another file is not replaced by it, unless --force says so."""
    from discreet.release.manifest import manifest_path, read_manifest
    from discreet.writing import require_writable_path

    path: Path = choices["manifest"] or manifest_path(choices["out"])
    require_writable_path(path)
    if choices["manifest"] is not None and path.exists() and not choices["force"]:
        try:
            read_manifest(path)
        except InvalidManifest:
            raise OutputRefused(
                f"{path} exists and is no manifest. Name another file, or add --force to replace it."
            ) from None
    return path


def _read_secret(path: Path | None) -> bytes | None:
    if path is None:
        return None
    from discreet.release.deidentify.keys import read_key_file

    return read_key_file(path).secret


def _plain_choice(value: object) -> Any:
    """Return a choice as JSON keeps it, and as its option reads it again."""
    if isinstance(value, (Path, CriterionLevel)):
        return str(value)
    if isinstance(value, str):
        return without_password(value)
    if isinstance(value, tuple):
        return [_plain_choice(item) for item in value]
    return value
