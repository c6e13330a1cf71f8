"""Append, overwrite, and CREATE with rows."""

__all__: list[str] = []
