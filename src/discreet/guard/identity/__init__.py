"""WHO is at the other end: passwords, certificates, tokens, directories."""
