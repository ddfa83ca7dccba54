"""Scores rows by PMML4S, an evaluator that others wrote; a process of its own, since it starts a Java machine in it.

Reads `[[file, rows], …]` in JSON from standard input, and writes what each model says of each row.
"""

from __future__ import annotations

import json
import sys

from pypmml import Model

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    scored = [Model.load(path).predict(json.dumps(rows)) for path, rows in asked]
    json.dump(scored, sys.stdout)
