"""The rows of the catalog's relations, each produced on demand."""
