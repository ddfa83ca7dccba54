"""HOW exposed people are."""
