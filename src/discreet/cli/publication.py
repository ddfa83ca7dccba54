"""A release from the words of the command line, with its manifest, and from a manifest again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.api.criteria import make_criteria
from discreet.api.publication import (
    choose_manifest_path,
    current_time,
    kept_choices,
    open_registry,
    plain_choice,
    with_manifest,
)
from discreet.cli import output
from discreet.errors import InvalidManifest, WrongUsage
from discreet.release.release import Release
from discreet.writing import refuse_collisions

if TYPE_CHECKING:
    from discreet.release.manifest import Manifest
    from discreet.release.registry import RegistryRecord


def publish_release(
    source: str, choices: dict[str, Any], *, expected: str | None = None
) -> Release:
    """Return the release that the words ask for, written with its manifest.

    With `expected`, nothing is published unless the file has that SHA-256.
    """
    from discreet.release.anonymization import anonymize_source
    from discreet.release.options import AnonymizeOptions

    arguments = {
        "source": plain_choice(source),
        **{name: plain_choice(choices[name]) for name in kept_choices()},
    }
    out = None if choices["dry_run"] else choices["out"]
    manifest = (
        choose_manifest_path(out, manifest=choices["manifest"], force=choices["force"])
        if out is not None
        else None
    )
    made = current_time()
    refuse_collisions(
        (choices["policy"], choices["against"], choices["key_file"]),
        {"the rows": out, "the manifest": manifest, "the report": choices["report"]},
        source=source,
    )
    options = AnonymizeOptions(
        criteria=make_criteria(choices),
        weights=choices["weights"] or {},
        leave_out=choices["leave_out"] or (),
        **{
            name: choices[name]
            for name in (
                *("quasi", "sensitive", "unit", "hierarchies"),
                *("method", "suppress", "utility", "target"),
            )
        },
    )
    with output.progress() as step:
        found = anonymize_source(
            source,
            choices["policy"],
            output=out,
            options=options,
            key=_read_secret(choices["key_file"]),
            expected=expected,
            memory_limit=choices["memory"],
            progress=step,
            manifest=manifest,
            registry=open_registry(
                source, policy=choices["policy"], table=choices["table"], made=made
            ),
            **{
                name: choices[name]
                for name in (
                    *("table", "against", "suppressed", "seconds", "force"),
                    *("delimiter", "encoding", "frontier", "minimal", "earlier", "accept_risk"),
                )
            },
        )
    return with_manifest(found, manifest, arguments, made=made) if out is not None else found


def replay_release(path: Path, choices: dict[str, Any], *, command: click.Command) -> Release:
    """Make the release of a manifest again; a file that differs is an error.

    The options of `command` read what the manifest keeps.
    """
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
        if name in kept_choices()
    }
    again = {**choices, **restored, "out": out}
    if choices["manifest"] is None and Path(str(out)) == Path(str(manifest.output)):
        again["manifest"] = path
    return publish_release(source, again, expected=manifest.sha256)


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


def _read_secret(path: Path | None) -> bytes | None:
    if path is None:
        return None
    from discreet.release.deidentify.keys import read_key_file

    return read_key_file(path).secret
