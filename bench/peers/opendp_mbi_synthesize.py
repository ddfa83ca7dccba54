"""OpenDP's MST and AIM on a table of codes, in an environment of its own.

Rows are sampled: those that mbi 1.1.0 rounds, its default, depend on each other where the model says they do not.
"""

import json
import resource
import sys
from pathlib import Path

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
ALGORITHMS = {"mst": dp.mbi.MST, "aim": dp.mbi.AIM}

folder, method, epsilon, delta = Path(sys.argv[1]), *sys.argv[2:5]
# A column with a mode of its own would be searched for domains: the values are given. OpenDP adds a missing value to the values of
# each column, which stands for the last code here, so that both have as many.
sizes = json.loads((folder / "domain.json").read_text())
keys = {name: list(range(size - 1)) for name, size in sizes.items()}
table = pl.scan_csv(folder / "train.csv")


def find_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho that is worth no more than epsilon and delta, by OpenDP's conversion."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)

    def is_enough(scale: float) -> bool:
        gaussian = dp.m.make_gaussian(*space, scale=scale)
        profile = dp.c.make_zCDP_to_approxDP(gaussian).map(1)
        return profile.epsilon(delta) <= epsilon

    scale = dp.binary_search(is_enough, bounds=(0.1, 1e4))
    return 1 / (2 * scale**2)


context = dp.Context.compositor(
    data=table,
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(rho=find_rho(float(epsilon), float(delta))),
    split_evenly_over=1,
)
made = (
    context.query()
    .select(*sizes)
    .contingency_table(keys=keys, algorithm=ALGORITHMS[method]())
    .release()
    .synthesize(method="sample")
)
codes = [pl.col(name).fill_null(size - 1).cast(pl.Int64) for name, size in sizes.items()]
made.select(codes).write_csv(folder / f"opendp-{method}.csv")
usage = resource.getrusage(resource.RUSAGE_SELF)
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024
print(json.dumps({"cpu": round(usage.ru_utime + usage.ru_stime, 1), "memory": memory}))
