"""Statements that create, clone and drop tables and views."""

__all__: list[str] = []
