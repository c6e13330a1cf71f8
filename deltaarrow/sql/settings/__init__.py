"""Statements about the session: SET, RESET and EXPLAIN."""

__all__: list[str] = []
