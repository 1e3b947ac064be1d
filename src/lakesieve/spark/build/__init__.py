"""From data files of a table to segments of its indexes: build, refresh, upkeep, proof."""
