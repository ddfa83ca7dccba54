"""smartnoise-synth's MST and AIM on a table of codes, in an environment of its own without torch, which both do without.

Rows are sampled: those that mbi 1.1.0 rounds, its default, depend on each other where the model says they do not.
"""

import contextlib
import json
import sys
import time
from functools import partialmethod
from pathlib import Path

import pandas as pd
from mbi import MarkovRandomField
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer, TableTransformer

MarkovRandomField.synthetic_data = partialmethod(MarkovRandomField.synthetic_data, method="sample")
folder, method, epsilon, delta = Path(sys.argv[1]), *sys.argv[2:5]
table = pd.read_csv(folder / "train.csv")
sizes = json.loads((folder / "domain.json").read_text())
transformers = []
for size in sizes.values():
    one = LabelTransformer(nullable=False)
    one.fit(list(range(size)))
    transformers.append(one)
began = time.process_time()
with contextlib.redirect_stdout(sys.stderr):
    model = Synthesizer.create(method, epsilon=float(epsilon), delta=float(delta))
    rows = model.fit_sample(table, transformer=TableTransformer(transformers))
took = time.process_time() - began
rows.to_csv(folder / f"smartnoise-{method}.csv", index=False)
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps({"cpu": round(took, 1), "memory": memory}))
