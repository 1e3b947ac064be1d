"""Build indexes on Spark: from a table's data files to segments, and refresh and verify them."""
