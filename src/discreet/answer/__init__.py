"""Question in, private answer out: SQL text to a plan, a plan to a noisy answer with its error and its price."""
