"""Names of tables and views, which the catalog keeps in lower case."""

from dataclasses import dataclass

from dbt.adapters.contracts.relation import ComponentName
from dbt.adapters.duckdb.relation import DuckDBRelation

__all__ = ["DeltaarrowRelation"]


@dataclass(frozen=True, eq=False, repr=False)
class DeltaarrowRelation(DuckDBRelation):
    """A relation of dbt-duckdb whose names are compared without regard to case."""

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        return bool(self.path.get_lowered_part(field) == value.lower())
