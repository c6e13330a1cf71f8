"""A snapshot for Polars: lazy frames over its data files."""

__all__: list[str] = []
