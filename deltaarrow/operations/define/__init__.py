"""The definition of a table: its creation, its evolution by a write, and its removal."""

__all__: list[str] = []
