"""Work around a commit: its start, its hooks, and the maintenance of the log."""

__all__: list[str] = []
