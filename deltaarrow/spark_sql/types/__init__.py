"""Spark's types: their rules, casts, and declarations in SQL."""

__all__: list[str] = []
