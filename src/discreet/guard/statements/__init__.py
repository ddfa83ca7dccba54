"""Text in, statements out: exactly those that are allowed, and nothing is executed."""
