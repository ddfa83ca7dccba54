"""The manifest beside a file of reports, which counting needs; it holds nothing about any person."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.dp.local.collect import support_of
from discreet.dp.local.protocol import Protocol, design_protocol
from discreet.errors import DiscreetError, InvalidManifest, UnreadableSource

FORMAT = 1


def reports_manifest_path(reports: Path) -> Path:
    """Return where the manifest of a file of reports is: `reports.csv.json` beside it."""
    return reports.with_name(f"{reports.name}.json")


def describe_protocol(protocol: Protocol, *, column: str, rows: int, program: str) -> str:
    """Return the manifest of reports as JSON: the protocol, its chances, its guarantee."""
    chances = support_of(protocol)
    content = {
        "program": program,
        "format": FORMAT,
        "method": protocol.method,
        "epsilon": str(protocol.epsilon),
        "values": list(protocol.values),
        "column": column,
        "rows": rows,
        "odds": str(protocol.odds),
        "supports": {"true": str(chances.true), "other": str(chances.other)},
        "guarantee": f"Each report is {protocol.epsilon}-DP between any two values of its sender.",
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_reports_manifest(path: Path) -> Protocol | None:
    """Return the protocol that the manifest in `path` describes, or None where there is no file.

    Raises:
        InvalidManifest: It is no manifest of `discreet collect`, or of another version of it.
    """
    try:
        content: Any = json.loads(path.read_text("utf-8"))
        protocol = design_protocol(
            [str(value) for value in content["values"]],
            epsilon=Fraction(content["epsilon"]),
            method=content["method"],
        )
        is_same = content["format"] == FORMAT and content["odds"] == str(protocol.odds)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError, DiscreetError):
        raise InvalidManifest(f"{path} is no manifest of `discreet collect`.") from None
    if not is_same:
        raise InvalidManifest(
            f"{path} was written by {content.get('program')}, whose reports this version cannot "
            "count. Use that version."
        )
    return protocol


def read_reports(path: Path) -> Any:
    """Return the reports in a CSV or Parquet file as an Arrow table, texts as they were written."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    texts = csv.ConvertOptions(
        column_types={"report": pa.string(), "seed": pa.int64()}, strings_can_be_null=False
    )
    delimiter = "\t" if ".tsv" in path.suffixes else ","
    try:
        if path.suffix.lower() == ".parquet":
            return parquet.read_table(path)
        return csv.read_csv(
            path, parse_options=csv.ParseOptions(delimiter=delimiter), convert_options=texts
        )
    except (pa.ArrowException, OSError, ValueError):
        # The message may quote a cell.
        failed = f"{path.name} cannot be read as reports. Name the file that collect wrote."
    raise UnreadableSource(failed)
