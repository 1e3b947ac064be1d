"""Apache Iceberg: schemas, metadata files, manifests, and tables read without an engine."""
