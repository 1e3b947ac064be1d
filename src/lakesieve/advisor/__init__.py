"""Which columns to index: what queries ask, and what trial indexes say of it."""
