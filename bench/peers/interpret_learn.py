"""interpret's boosting under differential privacy on a table with public bounds and values, in an environment of its own."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

folder, method, epsilon = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
public = json.loads((folder / "public.json").read_text())
target, bounds, values = public["target"], public["bounds"], public["values"]
train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
warnings.simplefilter("ignore")
names = [name for name in train.columns if name != target]
asked = {
    "feature_names": names,
    "feature_types": ["continuous" if name in bounds else "nominal" for name in names],
    "privacy_bounds": {name: tuple(bounds[name]) for name in names if name in bounds},
    "epsilon": epsilon,
    "delta": 1e-9,
    "n_jobs": 1,
}
texts = [name for name in names if name not in bounds]
rows, others = (
    table[names].astype(
        dict.fromkeys(texts, str) | {name: float for name in bounds if name in names}
    )
    for table in (train, test)
)
began = time.process_time()
if target in values:
    model = DPExplainableBoostingClassifier(**asked).fit(rows, train[target])
    took = time.process_time() - began
    found = model.predict_proba(others)
else:
    ends = tuple(bounds[target])
    asked["privacy_target_min"], asked["privacy_target_max"] = ends
    model = DPExplainableBoostingRegressor(**asked).fit(rows, train[target])
    took = time.process_time() - began
    found = model.predict(others)
np.save(folder / f"interpret-{method}.npy", found)
print(json.dumps({"cpu": round(took, 3)}))
