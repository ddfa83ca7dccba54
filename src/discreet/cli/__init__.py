"""WORDS typed at a prompt: one file per verb, loaded only when it is used."""

from discreet.cli.main import main

__all__ = ["main"]
