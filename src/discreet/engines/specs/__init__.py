"""The specifications of the engines, one module each, read by `discreet.registry`."""
