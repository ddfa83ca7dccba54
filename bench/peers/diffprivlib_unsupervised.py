"""diffprivlib's components and clusters of numbers from -1 to 1, in an environment of its own."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from diffprivlib import models

folder, method, epsilon, size = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
rows = np.load(folder / "numbers.npy")
ends = (-np.ones(rows.shape[1]), np.ones(rows.shape[1]))
warnings.simplefilter("ignore")
began = time.process_time()
if method == "pca":
    norm = float(np.sqrt(rows.shape[1]))
    model = models.PCA(size, epsilon=epsilon, data_norm=norm, bounds=ends).fit(rows)
    found = model.components_
else:
    found = models.KMeans(size, epsilon=epsilon, bounds=ends).fit(rows).cluster_centers_
took = time.process_time() - began
np.save(folder / f"diffprivlib-{method}.npy", found)
print(json.dumps({"cpu": round(took, 3)}))
