"""What clients and PostgreSQL's own tests see, beside a real PostgreSQL 16."""
