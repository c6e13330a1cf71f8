"""Expressions that act on a table: conditions, constraints, generated columns and defaults."""

__all__: list[str] = []
