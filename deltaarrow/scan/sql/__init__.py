"""A planned scan as DuckDB SQL, and the rows that a condition finds by it."""

__all__: list[str] = []
