"""discreet's own recoding methods, one module each, as `SPEC`; packages add theirs by entry points."""
