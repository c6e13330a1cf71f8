"""What the package needs of the process that it runs in: caches, locks, imports, the clock."""

__all__: list[str] = []
