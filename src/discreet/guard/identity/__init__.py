"""Authentication of users: passwords, certificates, tokens, directories."""
