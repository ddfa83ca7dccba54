"""anonypyx's Mondrian on Adult, in an environment of its own: released rows and times."""

import json
import resource
import sys
import time
from pathlib import Path

import pandas as pd
from anonypyx import Anonymiser

source, cases = Path(sys.argv[1]), json.loads(sys.argv[3])
frame = pd.read_csv(source, sep=";")
for case in cases:
    others = [name for name in frame.columns if name not in case["quasi"]]
    texts = [n for n in case["quasi"] if not pd.api.types.is_numeric_dtype(frame[n])]
    typed = frame.astype(dict.fromkeys(texts, "category"))
    wall, cpu = time.perf_counter(), time.process_time()
    released = Anonymiser(
        typed,
        k=case["k"],
        feature_columns=case["quasi"],
        algorithm="Mondrian",
        generalisation_strategy="human-readable",
    ).anonymise()
    times = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Equal rows come out once, with their count.
    rows = released.loc[released.index.repeat(released["count"]), [*case["quasi"], *others]]
    rows.to_csv(case["output"], index=False, sep=";")
    print("\n" + json.dumps({"name": case["name"], **times, "memory": memory}), flush=True)
