"""One column at a time: what names a person is removed, replaced or coarsened."""
