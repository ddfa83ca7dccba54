"""Other tools of custodians: each changes values, and says what it promises."""
