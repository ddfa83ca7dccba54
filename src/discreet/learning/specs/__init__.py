"""One module per learner, each with its `SPEC`."""
