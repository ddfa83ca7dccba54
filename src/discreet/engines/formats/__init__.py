"""File formats, one module each: how its files are recognized, read and written."""
