"""ALTER TABLE."""

__all__: list[str] = []
