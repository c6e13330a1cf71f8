"""Maintenance statements, such as OPTIMIZE, VACUUM and RESTORE."""

__all__: list[str] = []
