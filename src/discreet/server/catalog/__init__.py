"""The system catalog: pg_catalog and information_schema, limited to what a user may see."""
