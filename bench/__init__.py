"""Benchmarks: ratios against the engine's own limit or a peer, side by side in one run."""
