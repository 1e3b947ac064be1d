"""Delta Lake through a Spark session."""
