"""OpenDP's components of numbers from -1 to 1, in an environment of its own."""

import json
import sys
import time
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from opendp.extras.sklearn.decomposition import PCA

dp.enable_features("contrib", "idealized-numerics", "honest-but-curious")
folder, method, epsilon, size = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
rows = np.load(folder / "numbers.npy")
began = time.process_time()
model = PCA(
    epsilon=epsilon,
    row_norm=float(np.sqrt(rows.shape[1])),
    n_samples=len(rows),
    n_features=rows.shape[1],
    n_components=size,
).fit(rows)
took = time.process_time() - began
np.save(folder / f"opendp-{method}.npy", model.components_)
print(json.dumps({"cpu": round(took, 3)}))
