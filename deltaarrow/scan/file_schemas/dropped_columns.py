"""Columns that data files hold and the table no longer has, as their footers tell.

A column that is dropped from a table with column mapping stays in its files until these are rewritten.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from deltaarrow.scan.file_schemas.stored_schemas import files_by_schema
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import ArrayType, DataType, MapType, StructType

__all__ = ["files_with_dropped_columns"]


def files_with_dropped_columns(layout: TableLayout, tasks: Sequence[FileTask]) -> list[FileTask]:
    """Return the files with a column, or a field of a struct, that the table does not have.

    Raises `CorruptDataFileError` for a file whose footer cannot be read.
    """
    return files_by_schema(layout, tasks, lambda found: _holds_more(layout.physical_schema, found))


def _holds_more(wanted: StructType, found: Iterable[pa.Field]) -> bool:
    """Whether fields of a file are not among those of the table, under the names that files use."""
    known = {field.name.casefold(): field.type for field in wanted.fields}
    return any(
        field.name.casefold() not in known or _type_holds_more(known[field.name.casefold()], field.type)
        for field in found
    )


def _type_holds_more(wanted: DataType, found: pa.DataType) -> bool:
    if isinstance(wanted, StructType) and pa.types.is_struct(found):
        return _holds_more(wanted, found)
    if isinstance(wanted, ArrayType) and (pa.types.is_list(found) or pa.types.is_large_list(found)):
        return _type_holds_more(wanted.element_type, found.value_type)
    if isinstance(wanted, MapType) and pa.types.is_map(found):
        return _type_holds_more(wanted.key_type, found.key_type) or _type_holds_more(
            wanted.value_type, found.item_type
        )
    return False
