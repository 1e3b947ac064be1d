"""Row-level commands, joins and bulk look-ups: with skipping, without, and beside PyIceberg."""
