"""Classical statistics from noisy counts and sums: what is measured, and what follows from it."""
