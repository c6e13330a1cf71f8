"""Unity Catalog: names, commits of managed tables, and credentials."""

__all__: list[str] = []
