"""discreet's own criteria, one module each, as `SPEC`; packages add theirs by entry points."""
