"""Columns as dbt asks about them, with the types that tables can have."""

from dataclasses import dataclass

from dbt.adapters.duckdb.column import DuckDBColumn

__all__ = ["DeltaarrowColumn"]


@dataclass
class DeltaarrowColumn(DuckDBColumn):
    """A column of dbt-duckdb; texts have no length."""

    @classmethod
    def string_type(cls, size: int) -> str:
        """Return the type of texts."""
        return "varchar"
