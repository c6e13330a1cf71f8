"""Changes of a table's metadata, like ALTER TABLE."""

__all__: list[str] = []
