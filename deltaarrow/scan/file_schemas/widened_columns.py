"""Columns that data files hold in the type from before it was widened, as their footers tell.

Chapter "Type Widening" of the protocol: the schema says which columns were widened.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.scan.file_schemas.stored_schemas import files_by_schema
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType, from_arrow_type
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY

__all__ = ["files_with_narrow_columns"]


def files_with_narrow_columns(layout: TableLayout, tasks: Sequence[FileTask]) -> list[FileTask]:
    """Return the files with a column, or a part of one, of another type than that it was widened to.

    Raises `CorruptDataFileError` for a file whose footer cannot be read.
    """
    return files_by_schema(layout, tasks, lambda found: _holds_narrow(layout.physical_schema, found))


def _holds_narrow(wanted: StructType, found: Iterable[pa.Field]) -> bool:
    known = {field.name.casefold(): field for field in wanted.fields}
    return any(
        (field := known.get(each.name.casefold())) is not None
        and _is_narrow(field.type, each.type, was_widened=TYPE_CHANGES_KEY in field.metadata)
        for each in found
    )


def _is_narrow(wanted: DataType, found: pa.DataType, *, was_widened: bool) -> bool:
    """Whether a part of a file differs in type; members of structs know if they were widened."""
    match wanted:
        case StructType():
            return pa.types.is_struct(found) and _holds_narrow(wanted, found)
        case ArrayType() if pa.types.is_list(found) or pa.types.is_large_list(found):
            return _is_narrow(wanted.element_type, found.value_type, was_widened=was_widened)
        case MapType() if pa.types.is_map(found):
            return _is_narrow(wanted.key_type, found.key_type, was_widened=was_widened) or _is_narrow(
                wanted.value_type, found.item_type, was_widened=was_widened
            )
        case PrimitiveType():
            return was_widened and _primitive(found) != wanted
    return False


def _primitive(found: pa.DataType) -> DataType | None:
    try:
        return from_arrow_type(found)
    except DeltaError:
        return None
