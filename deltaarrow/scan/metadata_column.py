"""The column ``_metadata`` that Spark offers beside those of a table: the file of a row, and its row ids.

================================  ===================================================================
field                             value
================================  ===================================================================
``file_path``, ``file_name``      the location of the data file as a URI, and the last part of it
``file_size``                     in bytes
``file_block_start``              0: a file is read as one block
``file_block_length``             the size of the file
``file_modification_time``        as the log has it
``row_index``                     the position of the row in its file, deleted rows counted
``row_id``, ``base_row_id``       of tables with row tracking; see `deltaarrow.scan.row_id_columns`
``row_commit_version``,           the same
``default_row_commit_version``
================================  ===================================================================
"""

from collections.abc import Mapping

import pyarrow as pa

from deltaarrow.compute import quote_literal
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID, ROW_TRACKING_COLUMNS
from deltaarrow.schema import Field, PrimitiveType, StructType
from deltaarrow.storage import Store, encode_path

__all__ = ["METADATA", "METADATA_FILE_COLUMNS", "file_values", "metadata_sql", "metadata_type", "row_columns"]

METADATA = "_metadata"
"""The name of the column."""

METADATA_FILE_COLUMNS = ("modification_time",)
"""The columns of the file list that the column needs beside those of every scan."""

_TYPES = {
    "file_path": "string",
    "file_name": "string",
    "file_size": "long",
    "file_block_start": "long",
    "file_block_length": "long",
    "file_modification_time": "timestamp",
}
_ROW_INDEX = {"row_index": "long"}
_ROW_IDS = dict.fromkeys(
    ("row_id", "base_row_id", "default_row_commit_version", "row_commit_version"), "long"
)

_SQL = {
    "file_path": "p.file_path",
    "file_name": "p.file_name",
    "file_size": "p.file_size",
    "file_block_start": "0::BIGINT",
    "file_block_length": "p.file_size",
    "file_modification_time": "make_timestamptz(p.file_modification_time * 1000)",
    "row_index": "f.file_row_number",
    "base_row_id": "p.base_row_id",
    "default_row_commit_version": "p.default_row_commit_version",
}
"""The fields as SQL over a file ``f`` of DuckDB's reader and its row ``p`` in the table of files."""


def metadata_type(*, has_positions: bool, has_row_ids: bool) -> StructType:
    """Return the type of the column, as Spark has it for a table with and without these features."""
    names = _TYPES | (_ROW_INDEX if has_positions else {}) | (_ROW_IDS if has_row_ids else {})
    return StructType([Field(name, PrimitiveType(kind)) for name, kind in names.items()])


def row_columns(metadata: StructType | None) -> tuple[str, ...]:
    """Return the columns of a scan that the column is made of."""
    has_row_ids = metadata is not None and metadata.find("row_id") is not None
    return ROW_TRACKING_COLUMNS if has_row_ids else ()


def file_values(store: Store, files: pa.Table) -> dict[str, pa.Array]:
    """Return what `metadata_sql` reads of each file; those of row tracking are named as in the file list."""
    paths = [encode_path(store.location(path)) for path in files.column("path").to_pylist()]
    return {
        "file_path": pa.array(paths, pa.string()),
        "file_name": pa.array([path.rpartition("/")[2] for path in paths], pa.string()),
        "file_size": files.column("size"),
        "file_modification_time": files.column("modification_time"),
    }


def metadata_sql(metadata: StructType, columns: Mapping[str, str]) -> str:
    """Return the column as SQL; `columns` has the SQL of those of `row_columns`."""
    known = _SQL | {
        "row_id": columns.get(ROW_ID, ""),
        "row_commit_version": columns.get(ROW_COMMIT_VERSION, ""),
    }
    members = (f"{quote_literal(each.name)}: {known[each.name]}" for each in metadata.fields)
    return f"{{{', '.join(members)}}}"
