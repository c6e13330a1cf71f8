"""Statements in Spark's dialect, read into the dataclasses of `deltaarrow.sql.statements`."""

__all__: list[str] = []
