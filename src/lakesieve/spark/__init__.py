"""Everything that runs on Spark: tables, the build pipeline, the pruning rule, commands."""
