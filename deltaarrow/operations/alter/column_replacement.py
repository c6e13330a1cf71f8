"""Replacement of the whole list of columns, like ``ALTER TABLE ... REPLACE COLUMNS``.

Chapters *Change Metadata*, *Column Mapping* and *Type Widening* of the protocol. Data files stay unchanged:
columns that stay keep their ids, physical names and metadata. Spark also drops columns that partition or
cluster the table, or that expressions read, and cannot use the table afterwards; that is refused here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.operations.alter.column_changes import ensure_widens, widened
from deltaarrow.operations.alter.column_paths import described_column, leads_to
from deltaarrow.operations.alter.columns import with_statistics_columns
from deltaarrow.operations.alter.metadata_changes import Alteration
from deltaarrow.operations.define.dependents import ensure_no_dependents, ensure_type_may_change
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    JsonObject,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    fields_within,
    render_path,
    without_column_ids,
    without_table_metadata,
)
from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY, COMMENT_KEY, IDENTITY_START_KEY
from deltaarrow.snapshot import Snapshot

__all__ = ["replace_columns"]

_CLASS = "DELTA_UNSUPPORTED_ALTER_TABLE_REPLACE_COL_OP"


def replace_columns(snapshot: Snapshot, fields: Sequence[Field]) -> Alteration:
    """Plan to give the table exactly these columns, in this order.

    Columns and struct fields match by name. One that stays keeps its metadata, but takes a comment that is
    given. Others are new, and all of them are NULL in existing rows. A column that is not given is dropped,
    which needs column mapping and is refused together with new ones in the same struct, because that could
    mean a new name. A wider type needs the table to widen types.

    Raises `SchemaMismatchError` for a list of columns that the table cannot have in this way, and
    `UnsupportedFeatureError` for types that the table does not widen.
    """
    old = snapshot.schema
    if any(IDENTITY_START_KEY in field.metadata for field in old.fields):
        raise SchemaMismatchError(
            "the columns of a table with identity columns cannot be replaced; add, move and drop single"
            " columns (Spark: DELTA_IDENTITY_COLUMNS_REPLACE_COLUMN_NOT_SUPPORTED)"
        )
    given = without_table_metadata(without_column_ids(Schema(tuple(fields))))
    comparison = _Comparison(mapped=snapshot.mapping_mode != "none")
    schema = comparison.struct(old, given, ())
    _ensure_droppable(snapshot, schema, comparison.dropped)
    for path, before, after in comparison.retyped:
        ensure_widens(snapshot, render_path(path), before, after)
        ensure_type_may_change(old, snapshot.configuration, path)
        schema = widened(snapshot, schema, path, before, after)
    configuration = with_statistics_columns(
        snapshot, lambda each: None if any(leads_to(path, each) for path in comparison.dropped) else each
    )
    return Alteration(
        operation="REPLACE COLUMNS",
        parameters={"columns": orjson.dumps([_described(field) for field in given.fields]).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json(), configuration=configuration),
    )


def _described(field: Field) -> dict[str, Any]:
    comment = {key: text for key, text in field.metadata.items() if key == COMMENT_KEY}
    return described_column((field.name,), replace(field, metadata=JsonObject(comment)))


def _ensure_droppable(snapshot: Snapshot, schema: Schema, dropped: Sequence[tuple[str, ...]]) -> None:
    lost = [path[0] for path in dropped if len(path) == 1 and path[0] in snapshot.partition_columns]
    if lost:
        raise SchemaMismatchError(
            f"{', '.join(map(repr, lost))} is a partition column, which cannot be dropped; name it too"
            " (Spark: DELTA_UNSUPPORTED_DROP_PARTITION_COLUMN)"
        )
    names = [path[-1] for path in dropped]
    ensure_no_dependents(schema, snapshot.configuration, names, "be dropped")


@dataclass
class _Comparison:
    """The new schema by that of the table, with what is dropped and what changes its type."""

    mapped: bool

    def __post_init__(self) -> None:
        self.dropped: list[tuple[str, ...]] = []
        self.retyped: list[tuple[tuple[str, ...], PrimitiveType, PrimitiveType]] = []

    def struct(self, old: Any, new: StructType, path: tuple[str, ...]) -> Any:
        kept: dict[str, Field] = {}
        fields: list[Field] = []
        added: list[Field] = []
        for field in new.fields:
            present = old.find(field.name)
            if present is None:
                _ensure_nullable(field, (*path, field.name))
                added.append(field)
                fields.append(field)
            elif present.name in kept:
                raise SchemaMismatchError(f"column {render_path((*path, present.name))!r} is given twice")
            else:
                kept[present.name] = field
                fields.append(self._field(present, field, (*path, present.name)))
        lost = [(*path, field.name) for field in old.fields if field.name not in kept]
        self._ensure_clear(lost, [(*path, field.name) for field in added])
        self.dropped += lost
        return replace(old, fields=tuple(fields))

    def _field(self, old: Field, new: Field, path: tuple[str, ...]) -> Field:
        _ensure_not_tightened(old.nullable, new.nullable, path)
        metadata = dict(old.metadata)
        if COMMENT_KEY in new.metadata:
            metadata[COMMENT_KEY] = new.metadata[COMMENT_KEY]
        changed = self._type(old.type, new.type, path)
        if CHAR_TYPE_KEY in metadata and list(_names(changed)) != list(_names(old.type)):
            raise SchemaMismatchError(
                f"the fields inside {render_path(path)!r} cannot change, because the column is declared as"
                f" {metadata[CHAR_TYPE_KEY]}, in which fields count by their place"
            )
        return replace(old, type=changed, nullable=new.nullable, metadata=JsonObject(metadata))

    def _type(self, old: DataType, new: DataType, path: tuple[str, ...]) -> DataType:
        match old, new:
            case StructType(), StructType():
                struct: DataType = self.struct(old, new, path)
                return struct
            case ArrayType(), ArrayType():
                inner = (*path, "element")
                _ensure_not_tightened(old.contains_null, new.contains_null, inner)
                return replace(old, element_type=self._type(old.element_type, new.element_type, inner))
            case MapType(), MapType():
                _ensure_not_tightened(old.value_contains_null, new.value_contains_null, (*path, "value"))
                key = self._type(old.key_type, new.key_type, (*path, "key"))
                value = self._type(old.value_type, new.value_type, (*path, "value"))
                return replace(old, key_type=key, value_type=value)
            case PrimitiveType(), PrimitiveType():
                if old != new:
                    self.retyped.append((path, old, new))
                return old
        raise SchemaMismatchError(
            f"the type of column {render_path(path)!r} cannot change from {old} to {new} (Spark: {_CLASS})"
        )

    def _ensure_clear(self, lost: Sequence[tuple[str, ...]], added: Sequence[tuple[str, ...]]) -> None:
        if lost and not self.mapped:
            raise SchemaMismatchError(
                f"column {_listed(lost)} is not among the given columns, and columns are dropped only in a"
                f" table with column mapping; name it too (Spark: {_CLASS})"
            )
        if lost and added:
            raise SchemaMismatchError(
                f"it is not clear whether {_listed(lost)} is dropped and {_listed(added)} new, or whether"
                f" that is a new name; drop, rename and add columns in steps of their own (Spark: {_CLASS})"
            )


def _ensure_nullable(field: Field, path: tuple[str, ...]) -> None:
    if not field.nullable or any(not each.nullable for each in fields_within(field.type)):
        raise SchemaMismatchError(
            f"column {render_path(path)!r} is NOT NULL, but existing rows would have NULL in it; make it"
            f" nullable (Spark: {_CLASS})"
        )


def _ensure_not_tightened(old: bool, new: bool, path: tuple[str, ...]) -> None:
    if old and not new:
        raise SchemaMismatchError(
            f"column {render_path(path)!r} cannot become NOT NULL together with others; use"
            f" table.alter.change_column (Spark: {_CLASS})"
        )


def _names(data_type: DataType) -> Iterator[str]:
    return (field.name for field in fields_within(data_type))


def _listed(paths: Sequence[tuple[str, ...]]) -> str:
    return ", ".join(repr(render_path(path)) for path in paths)
