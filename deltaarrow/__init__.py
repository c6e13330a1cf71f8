"""Delta Lake tables as Arrow datasets, for DuckDB, Polars and Spark."""
