"""What cells may hold, as whole-number codes: from policy and schema alone, as expressions of every engine."""
