"""pycanon's k, l and t on Adult, in an environment of its own."""

import json
import resource
import sys
import time

import pandas as pd
from pycanon import anonymity

QUASI = [
    "age",
    "education",
    "marital-status",
    "native-country",
    "race",
    "salary-class",
    "sex",
    "workclass",
]
frame = pd.read_csv(sys.argv[1], sep=";")
wall, cpu = time.perf_counter(), time.process_time()
k = anonymity.k_anonymity(frame, QUASI)
distinct = anonymity.l_diversity(frame, QUASI, ["occupation"])
entropy = anonymity.entropy_l_diversity(frame, QUASI, ["occupation"])
t = anonymity.t_closeness(frame, QUASI, ["occupation"])
print(
    json.dumps(
        {
            "wall": time.perf_counter() - wall,
            "cpu": time.process_time() - cpu,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "result": [int(k), int(distinct), float(entropy), float(t)],
        }
    )
)
