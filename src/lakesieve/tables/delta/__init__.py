"""Delta Lake: the transaction log, and tables read without an engine."""
