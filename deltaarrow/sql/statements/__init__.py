"""Statements as dataclasses, the same for both dialects."""

__all__: list[str] = []
