"""Sessions: where guard and answer meet, for every protocol."""
