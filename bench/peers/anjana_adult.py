"""anjana's k-anonymity on Adult, in an environment of its own: released rows and times."""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity, t_closeness


def levels_of(folder: Path, column: str, values: pd.Series) -> dict[int, np.ndarray]:
    """A hierarchy as anjana wants it: an array of labels for each level, values first."""
    path = next(folder.glob(f"*_hierarchy_{column}.csv"))
    table = pd.read_csv(path, sep=";", header=None, dtype=str)
    table = table[table[0].isin(values.unique())]
    return {level: table[level].to_numpy() for level in table.columns}


source, hierarchies, cases = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
frame = pd.read_csv(source, sep=";", dtype=str)
for case in cases:
    levels = {name: levels_of(hierarchies, name, frame[name]) for name in case["quasi"]}
    limits = (case["k"], case["suppress"] * 100)
    wall, cpu = time.perf_counter(), time.process_time()
    if "t" in case:
        released = t_closeness(
            frame, [], case["quasi"], case["sensitive"], limits[0], case["t"], limits[1], levels
        )
    else:
        released = k_anonymity(frame, [], case["quasi"], *limits, levels)
    times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Its column `index` holds the numbers of the original rows.
    released[list(frame.columns)].to_csv(case["output"], index=False, sep=";")
    print("\n" + json.dumps({"name": case["name"], **times, "memory": memory}), flush=True)
