"""Synthetic tables under differential privacy: noisy marginals, the table of greatest entropy, fresh rows.

What touches the data is in `measure`; all that follows works on noisy counts only.
"""
