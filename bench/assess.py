"""`assess` against the plain GROUP BY of the same DuckDB, and against pycanon.

Run with `make bench`. Every measurement is a process of its own, so that its peak memory is its own;
times are the best of five, ratios are of times taken in the same run.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from bench.people import FOLDER, QUASI, SENSITIVE, people, survey

ADULT = Path("../shared/data/adult/adult.csv")
ADULT_QUASI = [
    "age",
    "education",
    "marital-status",
    "native-country",
    "race",
    "salary-class",
    "sex",
    "workclass",
]
REPEATS = 5


def plain_group_by(path: str) -> dict[str, object]:
    import duckdb

    connection = duckdb.connect()
    query = f"SELECT {', '.join(QUASI)}, COUNT(*) FROM '{path}' GROUP BY ALL"
    return timed(lambda: connection.execute(query).to_arrow_table().num_rows)


def finer_group_by(path: str) -> dict[str, object]:
    """The engine's own price of a histogram of the sensitive column in each class."""
    import duckdb

    connection = duckdb.connect()
    query = f"SELECT {', '.join((*QUASI, SENSITIVE))}, COUNT(*) FROM '{path}' GROUP BY ALL"
    return timed(lambda: connection.execute(query).to_arrow_table().num_rows)


def assess_k(path: str) -> dict[str, object]:
    import discreet

    return timed(lambda: discreet.assess(path, quasi=QUASI, depth=0).k)


def assess_klt(path: str) -> dict[str, object]:
    import discreet

    def work() -> object:
        found = discreet.assess(path, quasi=QUASI, sensitive=[SENSITIVE], depth=0)
        return found.k, found.sensitive[SENSITIVE].l.distinct, found.sensitive[SENSITIVE].t.equal

    return timed(work)


def assess_adult(path: str) -> dict[str, object]:
    import discreet

    def work() -> object:
        found = discreet.assess(path, quasi=ADULT_QUASI, sensitive=["occupation"], depth=0)
        column = found.sensitive["occupation"]
        return found.k, column.l.distinct, column.l.entropy, column.t.equal, column.basic_beta

    return timed(work)


def group_by_all(path: str) -> dict[str, object]:
    import duckdb

    connection = duckdb.connect()
    groups = f"SELECT *, count(*) AS rows FROM '{path}' GROUP BY ALL HAVING count(*) = 1"
    query = f"SELECT count(*) FROM ({groups})"
    return timed(lambda: connection.execute(query).fetchall())


def joint_uniqueness(path: str) -> dict[str, object]:
    from discreet.engines.connect import open_table
    from discreet.measure.joint import measure_joint
    from discreet.measure.roles import bind_roles

    def work() -> object:
        bound = bind_roles(open_table(path), quasi=["a0", "a1"], sensitive=["a5", "a6", "a7"])
        found = measure_joint(bound)
        bound.subject.table.engine.close()
        return found.unique, found.exposed

    return timed(work)


def timed(work: object) -> dict[str, object]:
    walls: list[float] = []
    cpus: list[float] = []
    result: object = None
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()  # type: ignore[operator]
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": min(walls), "cpu": min(cpus), "memory": memory, "result": result}


def alone(work: str, path: Path, *, python: str = sys.executable) -> dict[str, float]:
    """Run one measurement in a process of its own and return what it printed."""
    command = [python, "-m", "bench.assess", work, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def row(name: str, found: dict[str, float], base: dict[str, float], aim: str = "") -> None:
    print(
        f"{name:<28}{found['wall']:>9.3f}{found['cpu']:>9.3f}{found['wall'] / base['wall']:>9.2f}"
        f"{found['cpu'] / base['cpu']:>9.2f}{found['memory']:>10.0f}  {aim}"
    )


HEADER = f"{'':<28}{'wall s':>9}{'CPU s':>9}{'ratio':>9}{'CPU':>9}{'peak MB':>10}  aim"


def against_engine(kind: str, rows: int) -> None:
    path = people(kind, rows)
    plain = alone("plain_group_by", path)
    print(f"\n{kind}: {rows:,} rows, {len(QUASI)} quasi-identifiers, {plain['result']:,} classes")
    print(HEADER)
    row("plain GROUP BY", plain, plain)
    row("GROUP BY with sensitive", alone("finer_group_by", path), plain)
    row("assess: k", alone("assess_k", path), plain, "<= 1.3")
    row("assess: k, l and t", alone("assess_klt", path), plain, "<= 2")


def on_all_columns(rows: int) -> None:
    path = survey(rows)
    plain = alone("group_by_all", path)
    print(f"\nsurvey: {rows:,} rows, 30 columns, 3 of them sensitive")
    print(HEADER)
    row("GROUP BY all columns", plain, plain)
    row("joint uniqueness", alone("joint_uniqueness", path), plain)


def against_pycanon() -> None:
    """Compare on Adult, each in its own environment; pycanon pins older libraries."""
    if not ADULT.exists():
        print(f"\npycanon: skipped, {ADULT} is not here")
        return
    environment = FOLDER / "pycanon"
    if not (environment / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        uv = Path(sys.executable).with_name("uv")
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python",
             "--require-hashes", "-r", "bench/peers/pycanon.lock"],
            check=True,
        )  # fmt: skip
    peer = subprocess.run(
        [environment / "bin" / "python", "bench/peers/pycanon_adult.py", ADULT],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    theirs, ours = json.loads(peer.stdout), alone("assess_adult", ADULT)
    print("\nAdult: 30,162 rows, 8 quasi-identifiers; k, l (4 kinds), t, β, δ and risks")
    print(HEADER)
    row("pycanon: k, l, t", theirs, theirs)
    row("assess: everything", ours, theirs)
    print(f"pycanon found {theirs['result']}, assess {ours['result']}")


def main() -> None:
    if len(sys.argv) == 3:
        print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
        return
    rows = int(sys.argv[1]) if len(sys.argv) == 2 else 10_000_000
    for kind in ("leaning", "hard"):
        against_engine(kind, rows)
    on_all_columns(rows // 5)
    against_pycanon()


if __name__ == "__main__":
    main()
