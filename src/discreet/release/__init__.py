"""TABLE IN, SAFER TABLE OUT: every way to publish rows."""
