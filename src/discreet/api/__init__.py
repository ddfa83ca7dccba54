"""The Python API: what the command line does, as functions with keyword arguments."""
