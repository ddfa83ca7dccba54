"""Keys and what they encrypt: columns, files and the control store's secrets."""
