"""Delta Lake tables: the transaction log, and a reader without an engine."""
