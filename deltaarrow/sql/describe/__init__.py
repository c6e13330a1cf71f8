"""Statements that describe tables and schemas, and choose a schema: SHOW, DESCRIBE and USE."""

__all__: list[str] = []
