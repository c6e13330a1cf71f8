"""What a profile says of the lake."""

from dataclasses import dataclass
from typing import Any

from dbt.adapters.duckdb.credentials import DuckDBCredentials
from dbt_common.exceptions import DbtRuntimeError

__all__ = ["DATABASE", "DeltaarrowCredentials"]

DATABASE = "spark_catalog"
"""The database of all relations that are Delta tables or views of the catalog, by Spark's name for it."""


@dataclass
class DeltaarrowCredentials(DuckDBCredentials):
    """The credentials of dbt-duckdb, and the folder of the catalog.

    Attributes:
        root: the folder of the catalog, a path or URI; a table is in its folder ``schema/name``.
        storage_options: for the folder and for tables that models name by their path.
        folders: folders of Delta tables by the schema that models call them by.
    """

    database: str = DATABASE
    schema: str = "default"
    root: str = ""
    storage_options: dict[str, Any] | None = None
    folders: dict[str, str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.root:
            raise DbtRuntimeError("the profile needs root: the folder of the lake")
        if self.remote or self.is_motherduck:
            raise DbtRuntimeError(
                "a lake is read and written by this process: leave out remote and MotherDuck"
            )

    @classmethod
    def __pre_deserialize__(cls, data: dict[Any, Any]) -> dict[Any, Any]:
        named = data.pop("database", DATABASE)
        if named != DATABASE:
            raise DbtRuntimeError(f"the database of a profile of type deltaarrow is {DATABASE}, not {named}")
        data = super().__pre_deserialize__(data)
        return {**data, "database": DATABASE}

    @property
    def type(self) -> str:
        """The name of the adapter."""
        return "deltaarrow"

    @property
    def unique_field(self) -> str:
        """What dbt tells projects apart by."""
        return self.root

    def _connection_keys(self) -> tuple[str, ...]:
        return ("root", "folders", *super()._connection_keys())
