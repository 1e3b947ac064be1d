"""SQL statements about indexes: run a parsed statement, and join the application of a session."""
