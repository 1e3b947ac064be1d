"""Apache Hudi tables through a Spark session."""
