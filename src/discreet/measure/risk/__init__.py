"""The chance of being found."""
