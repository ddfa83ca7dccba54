"""What attacks learn from synthetic tables of the demo's hospital, beside the most that epsilon allows.

Run with `python -m bench.synthesize_attacks [--runs 10] [--epsilon 0.5 1 4]`. Each run pays for a new table and makes a new
twin. For an attack on membership, the share of people found less the share of others is at most
(e^epsilon - 1) / (e^epsilon + 1) + delta. The last line is a control: a table that copies people.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import discreet
from discreet.attacks.finding import Finding
from discreet.policy.load import load_policy
from discreet.release.synthesize.domain import table_domain
from discreet.release.synthesize.gate import (
    TOLERANCE,
    attack_twin,
    judge_strictly,
    make_twin,
    read_people,
)

HOSPITAL = Path(str(files("discreet") / "data" / "hospital"))


def attack_tables(epsilon: str, runs: int) -> list[Finding]:
    """Return what attacks on so many new tables found."""
    policy = load_policy(HOSPITAL / "synthetic.yaml")
    table = replace(policy.tables["patients"], budget=None)
    policy = replace(policy, tables={"patients": table})
    return [
        found
        for _ in range(runs)
        for found in discreet.synthesize(
            str(HOSPITAL / "patients.csv"),
            policy,
            epsilon=epsilon,
            method="fast",
            ledger=":memory:",
            accept_risk="a measurement",
        ).findings
    ]


def copy_rows(rows: Any, units: Any) -> Any:
    """Return as many rows, each a person's."""
    del units
    return rows[np.random.default_rng(1).integers(0, len(rows), len(rows))]


def attack_copies(runs: int) -> list[Finding]:
    """Return what attacks find in tables that copy people."""
    policy = load_policy(HOSPITAL / "synthetic.yaml").tables["patients"]
    findings: list[Finding] = []
    with discreet.open(
        str(HOSPITAL / "patients.csv"), HOSPITAL / "synthetic.yaml", ledger=":memory:"
    ) as curator:
        held = curator.catalog.find("patients")
        domain = table_domain(policy, held.planned_columns)
        for seed in range(runs):
            chance = np.random.default_rng(seed)
            source, _ = read_people(held.table, domain, unit="patient_id", kept=(), chance=chance)
            twin = make_twin(source, copy_rows, chance)
            if twin is not None:
                found = attack_twin(
                    twin, domain.columns, label="copies", sensitive=["diagnosis"], chance=chance
                )
                findings += [judge_strictly(one, TOLERANCE) for one in found]
    return findings


def print_findings(name: str, findings: list[Finding]) -> None:
    """Print the mean and the largest difference, and how often a table would be refused."""
    by_attack: defaultdict[str, list[Finding]] = defaultdict(list)
    for found in findings:
        by_attack[found.attack].append(found)
    print(name)
    for attack, some in sorted(by_attack.items()):
        gaps = [one.rate - (one.control or 0.0) for one in some]
        print(
            f"  {attack:<13} difference {np.mean(gaps):+.3f} (largest {max(gaps):+.3f}),"
            f" refused {sum(one.exceeds for one in some)} of {len(some)}"
        )


def main() -> None:
    """Print a block for each epsilon, and one for the control."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilon", nargs="*", default=["0.5", "1", "4"])
    given = parser.parse_args()
    for epsilon in given.epsilon:
        bound = math.tanh(float(epsilon) / 2)
        print_findings(
            f"epsilon {epsilon}: membership at most {bound:.3f}",
            attack_tables(epsilon, given.runs),
        )
    print_findings("copies of people", attack_copies(given.runs))


if __name__ == "__main__":
    main()
