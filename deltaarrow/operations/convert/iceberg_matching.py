"""The columns of a Parquet file of an Iceberg table, found by their field ids.

A file may be older than the names of the columns: what counts are the ids. A column that the file does not
have is NULL in all its rows.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    MapType,
    Schema,
    StructType,
    field_id,
    leaf_paths,
    nested_ids,
)
from deltaarrow.schema.metadata_keys import PARQUET_FIELD_ID_KEY

__all__ = ["paths_in_file"]

_Path = tuple[str, ...]

_ABSENT = ("\0",)
"""The path of no column in any file."""


def paths_in_file(
    schema: Schema, arrow_schema: pa.Schema, columns: StructType, partition_columns: Sequence[str], file: str
) -> dict[_Path, _Path]:
    """Return the path in a file of each leaf column of a table.

    Args:
        schema: the columns of the table, with ids.
        arrow_schema: those of the file, with ids.
        columns: the same, with their types in Delta.
        partition_columns: which the file need not have.
        file: its name, for errors.

    Raises `UnsupportedFeatureError` if the file does not tell the id of a column, or has a column of another
    type, `SchemaMismatchError` if it lacks a column that is NOT NULL, or tells an id twice.
    """
    matching = _Matching(file, set(partition_columns))
    found = dict(matching.struct(schema, list(arrow_schema), columns, (), ()))
    return {path: found.get(path, _ABSENT) for path in leaf_paths(schema)}


class _Matching:
    def __init__(self, file: str, partition_columns: set[str]) -> None:
        self._file = file
        self._partition_columns = partition_columns

    def struct(
        self, table: StructType, arrow: Sequence[pa.Field], columns: StructType, path: _Path, there: _Path
    ) -> Iterator[tuple[_Path, _Path]]:
        by_id: dict[int, tuple[pa.Field, Field]] = {}
        for one, other in zip(arrow, columns.fields, strict=True):
            number = self._id(one, (*there, one.name))
            if by_id.setdefault(number, (one, other))[0] is not one:
                raise SchemaMismatchError(f"{self._file} has the field id {number} twice")
        for field in table.fields:
            here = (*path, field.name)
            found = by_id.get(field_id(field) or 0)
            if found is not None:
                one, other = found
                yield from self._type(
                    field, field.type, one.type, other.type, here, (*there, one.name), field.name
                )
            elif not field.nullable and not (not path and field.name in self._partition_columns):
                raise SchemaMismatchError(
                    f"{self._file} lacks the column {'.'.join(here)}, which is NOT NULL; rewrite it with"
                    " Iceberg first"
                )

    def _type(
        self,
        owner: Field,
        table: DataType,
        arrow: pa.DataType,
        column: DataType,
        here: _Path,
        there: _Path,
        place: str,
    ) -> Iterator[tuple[_Path, _Path]]:
        """Yield the leaves of a column; `place` is where its field `owner` has the ids of its parts."""
        match table, column:
            case StructType(), StructType():
                yield from self.struct(table, arrow.fields, column, here, there)
                return
            case ArrayType(), ArrayType():
                parts: Mapping[str, tuple[DataType, pa.Field, DataType]] = {
                    "element": (table.element_type, arrow.value_field, column.element_type)
                }
            case MapType(), MapType():
                parts = {
                    "key": (table.key_type, arrow.key_field, column.key_type),
                    "value": (table.value_type, arrow.item_field, column.value_type),
                }
            case _:
                if table != column:
                    raise UnsupportedFeatureError(
                        f"{self._file} has the column {'.'.join(here)} with the type {column!r}, and the"
                        f" Iceberg table with {table!r}; rewrite the file with Iceberg first",
                        feature="conversion of promoted Iceberg types",
                    )
                parts = {}
        yield here, there
        for name, (inner, field, inner_column) in parts.items():
            number = nested_ids(owner).get(f"{place}.{name}")
            if self._id(field, (*there, name)) != number:
                raise SchemaMismatchError(f"{self._file} has another field id of {'.'.join((*here, name))}")
            # A bound of a part is of no use: only what the walk refuses counts.
            for _ in self._type(
                owner, inner, field.type, inner_column, (*here, name), (*there, name), f"{place}.{name}"
            ):
                pass

    def _id(self, field: pa.Field, path: _Path) -> int:
        text = (field.metadata or {}).get(PARQUET_FIELD_ID_KEY)
        if text is None:
            raise UnsupportedFeatureError(
                f"{self._file} tells no field id of the column {'.'.join(path)}; Iceberg reads it by a name"
                " mapping, which Delta has not, so rewrite it with Iceberg first (in Spark: column name"
                " mapping)",
                feature="conversion of Iceberg's name mapping",
            )
        return int(text)
