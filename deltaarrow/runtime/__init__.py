"""Process-wide services: caches, locks, lazy imports, the clock."""

__all__: list[str] = []
