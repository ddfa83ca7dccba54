"""WHAT a release lost: information, shapes, and the use of it."""
