"""What clients ask about the server itself: pg_catalog and information_schema, by what a user may see."""

from discreet.serve.catalog.catalog import SystemCatalog

__all__ = ["SystemCatalog"]
