"""Anonymeter's three evaluators on synthetic people, in an environment of its own."""

import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
folder, guesses = Path(sys.argv[1]), int(sys.argv[2])
first, second, secret = (json.loads(word) for word in sys.argv[3:6])
source, synthetic, control = (
    pd.read_parquet(folder / f"{name}.parquet") for name in ("source", "synthetic", "control")
)
SEEDS = 9
known = [name for name in source.columns if name != secret]


def singling_out(seed):
    evaluator = SinglingOutEvaluator(
        ori=source,
        syn=synthetic,
        control=control,
        n_attacks=guesses,
        n_cols=3,
        max_attempts=guesses * 100,
        seed=seed,
    )
    return evaluator.evaluate(mode="multivariate")


def linkability(_):
    evaluator = LinkabilityEvaluator(
        ori=source,
        syn=synthetic,
        control=control,
        n_attacks=guesses,
        aux_cols=(first, second),
        n_neighbors=1,
    )
    return evaluator.evaluate(n_jobs=1)


def attribute(_):
    evaluator = InferenceEvaluator(
        ori=source,
        syn=synthetic,
        control=control,
        aux_cols=known,
        secret=secret,
        regression=False,
        n_attacks=guesses,
    )
    return evaluator.evaluate(n_jobs=1)


def timed(work):
    """Return what a run found and took; Anonymeter's fit of a curve fails for some seeds."""
    for seed in range(1, SEEDS + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            found = work(seed)
        except ValueError as error:
            print(f"{work.__name__}, seed {seed}: {error}", file=sys.stderr)
            continue
        return found, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    raise SystemExit(f"{work.__name__} fails with each of {SEEDS} seeds")


for work in (singling_out, linkability, attribute):
    found, took = timed(work)
    risk = found.risk()
    name = work.__name__.replace("_", "-")
    told = {"attack": name, **took, "risk": risk.value, "interval": list(risk.ci)}
    print(json.dumps(told), flush=True)
