"""Commands that change and look up rows by key, and report what a table needs."""
