"""WORDS typed at a prompt: one file per verb, loaded only when it is used."""

from discreet.cli.command import main

__all__ = ["main"]
