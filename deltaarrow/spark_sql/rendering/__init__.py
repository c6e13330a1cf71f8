"""DuckDB SQL of the typed tree."""

__all__: list[str] = []
