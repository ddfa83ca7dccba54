"""The HTTP and JSON interface."""
