"""Apache Iceberg through a Spark session."""
