"""TABLE IN, PRIVATE MODEL OUT: from counts the engine makes."""
