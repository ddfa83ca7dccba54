"""Key services that come with discreet: one specification per module."""
