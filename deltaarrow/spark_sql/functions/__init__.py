"""Spark's functions and operators, in the groups of Spark's reference."""

__all__: list[str] = []
