"""DataSynthesizer's correlated mode (PrivBayes) on a table of codes, in an environment of its own."""

import contextlib
import json
import resource
import sys
from pathlib import Path

import pandas as pd
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

folder, degree, epsilon = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
source, description = folder / "train.csv", folder / "datasynthesizer.json"
names = list(pd.read_csv(source, nrows=1).columns)
with contextlib.redirect_stdout(sys.stderr):
    describer = DataDescriber(category_threshold=1000)
    describer.describe_dataset_in_correlated_attribute_mode(
        dataset_file=str(source),
        epsilon=epsilon,
        k=degree,
        attribute_to_datatype=dict.fromkeys(names, "Integer"),
        attribute_to_is_categorical=dict.fromkeys(names, True),
        attribute_to_is_candidate_key=dict.fromkeys(names, False),
    )
    describer.save_dataset_description_to_file(str(description))
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(
        len(pd.read_csv(source)), str(description)
    )
generator.save_synthetic_data(str(folder / "datasynthesizer.csv"))
usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
took = sum(one.ru_utime + one.ru_stime for one in usages)
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps({"cpu": round(took, 1), "memory": memory}))
