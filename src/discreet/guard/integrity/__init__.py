"""What must hold of data at all times: triggers and the order of writers."""
