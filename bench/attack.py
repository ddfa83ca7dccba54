"""All benches of attacks, one after the other: `python -m bench.attack`."""

from __future__ import annotations

import subprocess
import sys

NAMES = ("linkage", "sparse", "reconstruction", "dictionary", "composition", "synthetic")


def main() -> None:
    for name in NAMES:
        print(f"\n== {name} ==", flush=True)
        subprocess.run([sys.executable, "-m", f"bench.attack_{name}"], check=True)


if __name__ == "__main__":
    main()
