"""Private answers to SQL: a statement becomes a plan, the plan a noisy answer with its error."""
