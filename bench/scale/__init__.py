"""Where people outgrow one machine: hundreds of millions of rows, a million files."""
