"""Fuzz of the whole gateway: nobody sees a cell outside their rights.

Run with `python -m bench.fuzz [--count 100000] [--share 0.3] [--seed 1]`. Mutated statements are sent by people
with different rights to a server on DuckDB whose cells are all unlike each other; everything that comes
back is searched for cells that the sender may not see, and for words of the engine. It fails if anything
is found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.server.fuzz.watch import Watch
from tests.server.fuzz.world import USERS, make_world


def main() -> int:
    """Print what was sent, what came back, and findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.3, help="of queries that are run, too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--users", nargs="*", default=USERS)
    arguments = parser.parse_args()
    os.environ.setdefault("DISCREET_ADMIN_PASSWORD", "a long password")
    started, spent = time.monotonic(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder), arguments.seed)
        before = world.state()
        watch = Watch(world, Random(arguments.seed), share=arguments.share)
        watch.tally.heard = lambda finding: print(finding, flush=True)
        tally = watch.go(arguments.count, users=arguments.users)
        is_whole = world.state() == before
        world.opened.server.close()
    print(
        f"{tally.statements:,} texts sent, {tally.prepared:,} statements allowed, {tally.ran:,} run,"
    )
    print(
        f"{tally.rows:,} rows seen; {time.monotonic() - started:.0f} s, CPU {time.process_time() - spent:.0f} s"
    )
    print(
        "by SQLSTATE:", ", ".join(f"{state} {count}" for state, count in tally.states.most_common())
    )
    print("all data as before:", is_whole)
    print(f"{len(tally.findings)} findings")
    return 0 if is_whole and not tally.findings else 1


if __name__ == "__main__":
    sys.exit(main())
