"""Sessions: the one place where guard and answer meet, whatever the protocol."""
