"""diffprivlib's learners on a table with public bounds and values, in an environment of its own."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from diffprivlib import models

folder, method, epsilon = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
public = json.loads((folder / "public.json").read_text())
target, bounds, values = public["target"], public["bounds"], public["values"]
train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
warnings.simplefilter("ignore")


def scaled(table: pd.DataFrame) -> np.ndarray:
    """Numbers from 0 to 1, a column for each value of a category."""
    parts = []
    for name in table.columns:
        if name == target:
            continue
        if name in bounds:
            low, high = bounds[name]
            parts.append(((table[name].to_numpy(float) - low) / (high - low)).clip(0, 1)[:, None])
        else:
            parts.append(
                np.stack([table[name] == one for one in values[name]], axis=1).astype(float)
            )
    return np.concatenate(parts, axis=1)


def coded(table: pd.DataFrame) -> np.ndarray:
    """A column for each feature: its number, or the place of its value."""
    parts = []
    for name in table.columns:
        if name == target:
            continue
        if name in bounds:
            parts.append(table[name].to_numpy(float))
        else:
            places = {value: place for place, value in enumerate(values[name])}
            parts.append(table[name].map(places).to_numpy(float))
    return np.stack(parts, axis=1)


names = [name for name in train.columns if name != target]
low = np.array([bounds[name][0] if name in bounds else 0 for name in names], float)
high = np.array(
    [bounds[name][1] if name in bounds else len(values[name]) - 1 for name in names], float
)
form = scaled if method in ("logistic", "linear") else coded
rows, others, goal = form(train), form(test), train[target].to_numpy()
began = time.process_time()
if method == "logistic":
    norm = float(np.sqrt(len(names)))
    model = models.LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=300).fit(rows, goal)
elif method == "naive-bayes":
    model = models.GaussianNB(epsilon=epsilon, bounds=(low, high)).fit(rows, goal)
elif method == "forest":
    model = models.RandomForestClassifier(
        epsilon=epsilon, bounds=(low, high), classes=values[target], n_estimators=10
    ).fit(rows, goal)
else:
    ends = (np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
    model = models.LinearRegression(
        epsilon=epsilon, bounds_X=ends, bounds_y=tuple(bounds[target])
    ).fit(rows, goal)
took = time.process_time() - began
found = model.predict(others) if method == "linear" else model.predict_proba(others)
np.save(folder / f"diffprivlib-{method}.npy", np.nan_to_num(found))
print(json.dumps({"cpu": round(took, 3)}))
