"""The same functions, over the wire."""
