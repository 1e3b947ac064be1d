"""Apache Iceberg tables through a Spark session."""
