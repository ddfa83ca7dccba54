"""dpmm's MST, AIM and PrivBayes on a table of codes, in an environment of its own."""

import json
import sys
import time
from pathlib import Path

import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM

MODELS = {"mst": MSTGM, "aim": AIMGM, "privbayes": PrivBayesGM}

folder, method, epsilon, delta = Path(sys.argv[1]), *sys.argv[2:5]
table = pd.read_csv(folder / "train.csv")
domain = json.loads((folder / "domain.json").read_text())
began = time.process_time()
model = MODELS[method](epsilon=float(epsilon), delta=float(delta), domain=domain, n_jobs=1)
model.fit(table)
rows = model.generate(n_records=len(table))
took = time.process_time() - began
rows.to_csv(folder / f"dpmm-{method}.csv", index=False)
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps({"cpu": round(took, 1), "memory": memory}))
