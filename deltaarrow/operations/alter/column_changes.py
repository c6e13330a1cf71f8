"""Changes of existing columns at any level of nesting: type, comment, default, NOT NULL, position, metadata.

Chapters *Change Metadata*, *Type Widening* and *Default Columns* of the protocol. Data files stay unchanged.
The rules and the entries in history are those of ``ALTER TABLE ... ALTER COLUMN`` in delta-spark. Every
function plans an `Alteration` and writes nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import orjson

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.features import is_allowed_change, properties, supported_features
from deltaarrow.operations.alter.column_paths import (
    column_path,
    described_column,
    ensure_places_stay,
    leads_to,
    position_parameter,
    type_at,
)
from deltaarrow.operations.alter.metadata_changes import Alteration
from deltaarrow.operations.define.dependents import ensure_type_may_change
from deltaarrow.schema import (
    ArrayType,
    DataType,
    Field,
    JsonObject,
    MapType,
    Position,
    PrimitiveType,
    Schema,
    StructType,
    edit_field,
    edit_type,
    move_field,
    render_path,
    without_column_ids,
    without_table_metadata,
)
from deltaarrow.schema.metadata_keys import (
    CHAR_TYPE_KEY,
    COMMENT_KEY,
    DEFAULT_KEY,
    GENERATION_KEY,
    IDENTITY_START_KEY,
    TYPE_CHANGES_KEY,
)
from deltaarrow.snapshot import Snapshot

__all__ = [
    "ColumnChange",
    "change_columns",
    "drop_not_null",
    "ensure_widens",
    "set_column_metadata",
    "widened",
]

_TEXT = re.compile(r"(var)?char\(([1-9][0-9]{0,8})\)", re.IGNORECASE)
_WIDENING_PREVIEW = "typeWidening-preview"


@dataclass(frozen=True, kw_only=True)
class ColumnChange:
    """The change of one column; what is None stays as it is.

    Args:
        type: the new type, or its name. ``varchar(n)`` is the name of a string of up to n characters.
        comment: the new description.
        default: the new default value, an expression in Spark SQL.
        drop_default: whether the column loses its default value.
        nullable: whether the column may hold NULL.
        position: the new place among its siblings: ``FIRST`` or ``AFTER name``.
    """

    type: DataType | str | None = None
    comment: str | None = None
    default: str | None = None
    drop_default: bool = False
    nullable: bool | None = None
    position: str | None = None

    def __post_init__(self) -> None:
        if self.changes_only():
            raise ValueError("a change of a column changes something; give at least one argument")
        if self.default is not None and self.drop_default:
            raise ValueError("a column cannot both get a default and lose it; give one of the arguments")

    def changes_only(self, *names: str) -> bool:
        """Whether nothing changes but what these arguments say."""
        return all(
            getattr(self, each.name) == each.default for each in fields(self) if each.name not in names
        )


def change_columns(snapshot: Snapshot, changes: Mapping[str, ColumnChange]) -> Alteration | None:
    """Plan to change columns, given by their paths in Spark's notation, one after the other.

    Returns None if nothing changes, which is so only for the type that a column has already.

    Raises:
        SchemaMismatchError: a column does not exist, is given twice or with a field of its own, a type cannot
            change so, or an expression of the table relies on a type.
        UnsupportedFeatureError: the table lacks the feature for a default, or does not widen types.
    """
    if not changes:
        raise SchemaMismatchError("no column to change; give at least one column and its change")
    paths = [column_path(snapshot.schema, column) for column in changes]
    for index, path in enumerate(paths):
        for other in paths[:index]:
            if leads_to(path, other) or leads_to(other, path):
                raise SchemaMismatchError(
                    f"column {render_path(path)!r} and column {render_path(other)!r} cannot change together,"
                    " because one is the other or a field of it; give all changes of a column in one"
                    " ColumnChange (Spark: NOT_SUPPORTED_CHANGE_SAME_COLUMN)"
                )
    plan = _Plan(snapshot)
    for path, change in zip(paths, changes.values(), strict=True):
        plan.change(path, change)
    if not plan.described:
        return None
    return plan.alteration(several=len(changes) > 1)


class _Plan:
    """The schema so far, and the changed columns as history describes them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._schema = snapshot.schema
        self._filled: list[tuple[str, ...]] = []
        self.described: list[dict[str, Any]] = []

    def change(self, path: tuple[str, ...], change: ColumnChange) -> None:
        if change.changes_only("type") and self._has_type(path, change.type):
            return
        if _names_field(self._schema, path):
            self._change_field(path, change)
        elif not change.changes_only("type"):
            raise SchemaMismatchError(
                f"{render_path(path)!r} is an array element or a map key or value, of which only the type can"
                " change (Spark: DELTA_UNSUPPORTED_COMMENT_MAP_ARRAY for a comment)"
            )
        else:
            self.described.append(self._described_part(path, change.type or ""))
        if change.type is not None:
            self._change_type(path, change.type)
        if change.position is not None:
            position = Position.parse(change.position)
            ensure_places_stay(self._schema, path)
            self._schema = move_field(self._schema, path, position)
            self.described[-1] |= position_parameter(self._schema, path, position)

    def alteration(self, *, several: bool) -> Alteration:
        parameters: dict[str, Any] = {"columns": orjson.dumps(self.described).decode()}
        if not several:
            (described,) = self.described
            place = {"position": described.pop("position")} if "position" in described else {}
            parameters = {"column": orjson.dumps(described).decode(), **place}
        return Alteration(
            operation="CHANGE COLUMNS" if several else "CHANGE COLUMN",
            parameters=parameters,
            metadata=replace(self._snapshot.metadata, schema_string=self._schema.to_json()),
            filled=self._filled,
        )

    def _has_type(self, path: tuple[str, ...], wanted: DataType | str | None) -> bool:
        if wanted is None or (isinstance(wanted, str) and _TEXT.fullmatch(wanted)):
            return False
        field, inside = _nearest_field(self._schema, path)
        is_limited = CHAR_TYPE_KEY in field.metadata and not inside
        return not is_limited and type_at(self._schema, path) == _parsed(wanted)

    def _change_field(self, path: tuple[str, ...], change: ColumnChange) -> None:
        def edit(field: Field) -> Field:
            _ensure_identity_stays(path, field, change)
            metadata = dict(field.metadata)
            if change.comment is not None:
                metadata[COMMENT_KEY] = change.comment
            if change.default is not None:
                _ensure_may_default(path, field)
                metadata[DEFAULT_KEY] = change.default
            if change.drop_default:
                metadata.pop(DEFAULT_KEY, None)
            if change.type is not None:
                metadata = _with_text_limit(path, field, metadata, change.type)
            nullable = field.nullable if change.nullable is None else change.nullable
            if field.nullable and not nullable:
                self._filled.append(self._may_be_filled(path))
            new = replace(field, metadata=JsonObject(metadata), nullable=nullable)
            shown = new if change.type is None else replace(new, type=_parsed(change.type))
            # Spark describes the column before it records the change of its type.
            self.described.append(described_column(path, shown))
            return new

        self._schema = edit_field(self._schema, path, edit)

    def _described_part(self, path: tuple[str, ...], wanted: DataType | str) -> dict[str, Any]:
        if isinstance(wanted, str) and _TEXT.fullmatch(wanted):
            raise SchemaMismatchError(
                f"the type of {render_path(path)!r} cannot change to {wanted}: it is an array element or a"
                " map key or value, and the limits of texts in it stay (Spark: NOT_SUPPORTED_CHANGE_COLUMN)"
            )
        outer, part = type_at(self._schema, path[:-1]), path[-1]
        nullable = part != "key"
        match outer:
            case ArrayType():
                nullable = outer.contains_null
            case MapType() if part == "value":
                nullable = outer.value_contains_null
        return described_column(path, Field(part, _parsed(wanted), nullable))

    def _change_type(self, path: tuple[str, ...], wanted: DataType | str) -> None:
        old, new = type_at(self._schema, path), _parsed(wanted)
        if old == new:
            return
        column = render_path(path)
        if not isinstance(old, PrimitiveType) or not isinstance(new, PrimitiveType):
            raise SchemaMismatchError(
                f"the type of column {column!r} cannot change from {_spell(old)} to {_spell(new)}; change the"
                " types of its parts, one by one (Spark: CANNOT_UPDATE_FIELD)"
            )
        ensure_widens(self._snapshot, column, old, new)
        ensure_type_may_change(self._schema, self._snapshot.configuration, path)
        self._schema = widened(self._snapshot, self._schema, path, old, new)

    def _may_be_filled(self, path: tuple[str, ...]) -> tuple[str, ...]:
        level: DataType = self._schema
        for name in path[:-1]:
            level = level.field(name).type if isinstance(level, StructType) else level
            if not isinstance(level, StructType):
                raise SchemaMismatchError(
                    f"column {render_path(path)!r} is inside an array or a map and cannot become NOT NULL;"
                    " Spark neither creates nor checks such columns"
                )
        return path


def widened(
    snapshot: Snapshot, schema: Schema, path: tuple[str, ...], old: PrimitiveType, new: PrimitiveType
) -> Schema:
    """Return the schema with a wider type at `path`, recorded in the metadata of the nearest field."""
    in_preview = _WIDENING_PREVIEW in supported_features(snapshot.protocol)
    version = {"tableVersion": snapshot.version + 1} if in_preview else {}
    _, inside = _nearest_field(schema, path)
    change = {**version, "fromType": old.type, "toType": new.type}
    change |= {"fieldPath": ".".join(inside)} if inside else {}

    def record(field: Field) -> Field:
        recorded = [*field.metadata.get(TYPE_CHANGES_KEY, ()), change]
        return replace(field, metadata=JsonObject({**field.metadata, TYPE_CHANGES_KEY: recorded}))

    schema = edit_field(schema, path[: len(path) - len(inside)], record)
    return edit_type(schema, path, lambda _: new)


def ensure_widens(snapshot: Snapshot, column: str, old: PrimitiveType, new: PrimitiveType) -> None:
    """Raise unless the table may change the type of a column from `old` to `new`.

    Raises `SchemaMismatchError` for a change that may lose values, and `UnsupportedFeatureError` if the table
    does not widen types.
    """
    if not is_allowed_change(old, new):
        raise SchemaMismatchError(
            f"the type of column {column!r} cannot change from {old.type} to {new.type}: only changes that"
            " lose no value are possible, such as integer to long (Spark: NOT_SUPPORTED_CHANGE_COLUMN)"
        )
    if not properties.ENABLE_TYPE_WIDENING.parse(snapshot.configuration):
        raise UnsupportedFeatureError(
            f"the type of column {column!r} cannot change from {old.type} to {new.type}, because the table"
            f" does not widen types; set {properties.ENABLE_TYPE_WIDENING.name} to true first, with"
            " table.alter.set_table_properties (Spark: DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP)",
            feature="typeWidening",
        )


def _ensure_identity_stays(path: Sequence[str], field: Field, change: ColumnChange) -> None:
    if IDENTITY_START_KEY in field.metadata and not change.changes_only("comment", "position"):
        raise SchemaMismatchError(
            f"column {render_path(path)!r} is an identity column, of which only the comment and the position"
            " can change (Spark: DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED)"
        )


def _ensure_may_default(path: Sequence[str], field: Field) -> None:
    if len(path) > 1:
        raise SchemaMismatchError(
            f"{render_path(path)!r} is a field of a column; only whole columns have defaults that writers use"
        )
    if GENERATION_KEY in field.metadata:
        raise SchemaMismatchError(f"column {render_path(path)!r} is generated and cannot have a default")


def _with_text_limit(
    path: Sequence[str], field: Field, metadata: dict[str, Any], wanted: DataType | str
) -> dict[str, Any]:
    """Return the metadata with the text length that a type declares: a limit may be widened or dropped."""
    new = _TEXT.fullmatch(wanted) if isinstance(wanted, str) else None
    declared = str(field.metadata.get(CHAR_TYPE_KEY, ""))
    if new is None and not declared:
        return metadata
    old = _TEXT.fullmatch(declared)
    is_text = field.type == PrimitiveType("string") and _parsed(wanted) == field.type
    may_widen = old is not None and (new is None or (new[1] is not None and int(new[2]) >= int(old[2])))
    if new is not None and old is not None and new[0].lower() == old[0].lower():
        may_widen = True
    if not is_text or not may_widen:
        raise SchemaMismatchError(
            f"the type of column {render_path(path)!r} cannot change from {declared or _spell(field.type)} to"
            f" {wanted if isinstance(wanted, str) else _spell(wanted)}: texts may only become longer (Spark:"
            " NOT_SUPPORTED_CHANGE_COLUMN)"
        )
    rest = {key: value for key, value in metadata.items() if key != CHAR_TYPE_KEY}
    return rest if new is None else {**rest, CHAR_TYPE_KEY: new[0].lower()}


def _parsed(wanted: DataType | str) -> DataType:
    if not isinstance(wanted, str):
        return wanted
    return PrimitiveType("string" if _TEXT.fullmatch(wanted) else wanted)


def _names_field(schema: Schema, path: Sequence[str]) -> bool:
    return isinstance(type_at(schema, path[:-1]), StructType)


def _nearest_field(schema: Schema, path: Sequence[str]) -> tuple[Field, tuple[str, ...]]:
    """Return the field at or above `path`, and the path from there into its arrays and maps."""
    end = len(path)
    while not _names_field(schema, path[:end]):
        end -= 1
    struct = type_at(schema, path[: end - 1])
    assert isinstance(struct, StructType)
    return struct.field(path[end - 1]), tuple(path[end:])


def _spell(data_type: DataType) -> str:
    return data_type.type if isinstance(data_type, PrimitiveType) else repr(data_type)


# --- one column ---------------------------------------------------------------------------------------


def drop_not_null(snapshot: Snapshot, column: str) -> Alteration:
    """Plan to make a column, or a field of a struct, nullable.

    Raises `SchemaMismatchError` for a column that does not exist, and for an identity column.
    """
    alteration = change_columns(snapshot, {column: ColumnChange(nullable=True)})
    assert alteration is not None
    return alteration


def set_column_metadata(snapshot: Snapshot, column: str, metadata: Mapping[str, Any]) -> Alteration:
    """Plan to set metadata keys of a column, or of a field of a struct; None removes a key.

    ``comment`` is the description of the column; ``CURRENT_DEFAULT`` is its default value in Spark SQL.

    Raises `SchemaMismatchError` for a column that does not exist, and `UnsupportedFeatureError` for any
    other key with a meaning for engines.
    """
    probe = Field("probe", "string", metadata={key: "" for key in metadata if key != DEFAULT_KEY})
    kept = without_table_metadata(without_column_ids(Schema([probe]))).fields[0].metadata
    if reserved := sorted(probe.metadata.keys() - kept.keys() | metadata.keys() & {CHAR_TYPE_KEY}):
        raise UnsupportedFeatureError(
            f"column {column!r}: only engines may set the metadata {', '.join(reserved)}; use another key",
            feature=", ".join(reserved),
        )

    def changed(field: Field) -> Field:
        merged = {**field.metadata, **metadata}
        return replace(
            field, metadata=JsonObject({key: value for key, value in merged.items() if value is not None})
        )

    path = column_path(snapshot.schema, column)
    described: dict[str, Any] = {}

    def edit(field: Field) -> Field:
        new = changed(field)
        described.update(described_column(path, new))
        return new

    schema = edit_field(snapshot.schema, path, edit)
    return Alteration(
        operation="CHANGE COLUMN",
        parameters={"column": orjson.dumps(described).decode()},
        metadata=replace(snapshot.metadata, schema_string=schema.to_json()),
    )
