"""Row expressions that can never fail: what an analyst writes inside WHERE, GROUP BY and aggregates."""
