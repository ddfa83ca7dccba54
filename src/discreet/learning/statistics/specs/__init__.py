"""One module for each kind of statistic."""
