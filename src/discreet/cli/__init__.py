"""WORDS typed at a prompt: one file per verb."""
