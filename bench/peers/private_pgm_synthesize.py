"""MST and AIM by private-pgm's own scripts on a table of codes, in an environment of its own.

Its wheel has neither: `PRIVATE_PGM` names the folder of a checkout of ryan112358/private-pgm.
"""

import contextlib
import itertools
import json
import os
import sys
import time
from pathlib import Path

import pandas as pd

checkout = Path(os.environ["PRIVATE_PGM"])
sys.path[:0] = [str(checkout / "src"), str(checkout / "mechanisms")]

from aim import AIM  # noqa: E402
from mbi import Dataset, Domain  # noqa: E402
from mst import MST  # noqa: E402

MAX_CELLS = 10_000  # of a pair that AIM asks for, as its script has by default
# Compiled code of one thread: CPU seconds are compared.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"

folder, method, epsilon, delta = Path(sys.argv[1]), *sys.argv[2:5]
sizes = json.loads((folder / "domain.json").read_text())
table = Dataset(pd.read_csv(folder / "train.csv"), Domain(list(sizes), list(sizes.values())))
began = time.process_time()
with contextlib.redirect_stdout(sys.stderr):
    if method == "mst":
        rows = MST(table, float(epsilon), float(delta))
    else:
        pairs = itertools.combinations(table.domain, 2)
        workload = [(pair, 1.0) for pair in pairs if table.domain.size(pair) <= MAX_CELLS]
        size, steps = float(sys.argv[5]), int(sys.argv[6])
        aim = AIM(float(epsilon), float(delta), max_model_size=size, max_iters=steps)
        _, rows = aim.run(table, workload)
took = time.process_time() - began
rows.df.to_csv(folder / f"private-pgm-{method}.csv", index=False)
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps({"cpu": round(took, 1), "memory": memory}))
