"""Delta Lake tables through a Spark session."""
