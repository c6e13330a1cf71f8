"""A table read as an Iceberg table, by pyiceberg."""

import pyarrow as pa
from pyiceberg.table import StaticTable

from deltaarrow import DeltaTable

__all__ = ["iceberg_rows", "iceberg_table"]


def iceberg_table(table: DeltaTable) -> StaticTable:
    """Open the Iceberg metadata that the hint names; it is of the newest version of the table."""
    found = StaticTable.from_metadata(table.table_uri)
    assert found.properties["delta-version"] == str(DeltaTable(table.table_uri).version())
    return found


def iceberg_rows(table: DeltaTable) -> pa.Table:
    """The rows that pyiceberg reads, with the types of the table."""
    found = iceberg_table(table).scan().to_arrow()
    wanted = table.schema().to_arrow()
    assert found.column_names == wanted.names
    return found.cast(wanted)
