"""Statements that change rows: INSERT, DELETE, UPDATE, MERGE and TRUNCATE."""

__all__: list[str] = []
