"""A snapshot for DuckDB: views over its data files, and a connection that knows tables by name."""

__all__: list[str] = []
