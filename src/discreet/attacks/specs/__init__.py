"""The specifications of the attacks, one module each, read by `discreet.registry`."""
