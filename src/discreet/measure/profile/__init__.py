"""WHAT KIND of columns these are, guessed with reasons."""
