"""Keys and what they lock: columns, files and the control store's secrets."""
