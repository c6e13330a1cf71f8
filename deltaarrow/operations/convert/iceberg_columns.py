"""The columns of an Iceberg table in Delta's terms, with the field ids of column mapping.

===================================  ==========================  =========================
Iceberg                              Delta                       remark
===================================  ==========================  =========================
int, long, float, double, boolean,   of the same name            int is integer
string, binary, date, decimal
timestamptz                          timestamp
timestamp                            timestamp_ntz
struct, list, map                    struct, array, map          parts have nested ids
time, uuid, fixed, timestamps in     refused
nanoseconds, variant, geometry, ...
===================================  ==========================  =========================

Partitions, of the columns at the top:

==============================  =========================================================================
transform                       column of the table
==============================  =========================================================================
identity                        the column itself, not binary
year, month, day                a generated one, as in Spark, of a date or a timestamp without a zone
truncate                        a generated one, as in Spark, of a string, int or long
void                            none
bucket, hour, and times of      refused: Spark refuses bucket, and Delta takes the time zone of a session
timestamptz                     where Iceberg takes UTC
==============================  =========================================================================
"""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.partitions import render_partition_value
from deltaarrow.runtime.optional import require
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, Schema, StructType
from deltaarrow.schema.metadata_keys import (
    COMMENT_KEY,
    FIELD_ID_KEY,
    GENERATION_KEY,
    NESTED_IDS_KEY,
    PHYSICAL_NAME_KEY,
)

_types = require("pyiceberg.types")
_transforms = require("pyiceberg.transforms")

__all__ = ["IcebergColumns", "PartitionColumn"]

_PRIMITIVES = {
    _types.IntegerType: "integer",
    _types.LongType: "long",
    _types.FloatType: "float",
    _types.DoubleType: "double",
    _types.BooleanType: "boolean",
    _types.StringType: "string",
    _types.BinaryType: "binary",
    _types.DateType: "date",
    _types.TimestamptzType: "timestamp",
    _types.TimestampType: "timestamp_ntz",
}
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY = dt.date(1970, 1, 1)
_TIMES = ("date", "timestamp_ntz")


@dataclass(frozen=True)
class PartitionColumn:
    """A column that partitions the table, its place in Iceberg's partition, and how its values are read."""

    name: str
    place: int
    type: PrimitiveType
    value: Callable[[Any], Any]

    def render(self, partition: tuple[Any, ...], file: str) -> str | None:
        """Return the text of a file's value; `CorruptLogError` if it is none of the type."""
        try:
            raw = partition[self.place]
            found = None if raw is None else self.value(raw)
            text = render_partition_value(found, self.type)
        except (TypeError, ValueError, ArithmeticError, IndexError) as error:
            raise CorruptLogError(
                f"the manifest of {file} has no {self.type.type} for the partition column {self.name!r}"
            ) from error
        if found is not None and text is None:
            raise UnsupportedFeatureError(
                f"{file} has the empty text as its value of the partition column {self.name!r}, which Delta"
                " cannot tell from NULL; rewrite these rows with Iceberg first",
                feature="conversion of empty partition values",
            )
        return text


@dataclass(frozen=True)
class IcebergColumns:
    """The schema of an Iceberg table with ids and physical names, and its partition columns."""

    schema: Schema
    partitions: list[PartitionColumn] = field(default_factory=list)

    @classmethod
    def of(cls, metadata: Any, uri: str) -> "IcebergColumns":
        """Return those of ``TableMetadata``.

        Raises `UnsupportedFeatureError` for a type, a default or a partition that is not converted.
        """
        columns = [_field(each, each.name, uri) for each in metadata.schema().fields]
        by_id = {each.metadata[FIELD_ID_KEY]: each for each in columns}
        highest = metadata.last_column_id
        partitions = []
        for place, each in enumerate(metadata.spec().fields):
            if isinstance(each.transform, _transforms.VoidTransform):
                continue
            source = by_id.get(each.source_id)
            kind = source.type if source is not None else "nested field"
            refusal = UnsupportedFeatureError(
                f"the Iceberg table {uri} has the partition {each.name}, {each.transform} of a {kind!r},"
                " which is not converted; change its partition spec and rewrite its files with Iceberg first",
                feature=f"conversion of Iceberg's partition transform {each.transform}",
            )
            if source is None or not isinstance(source.type, PrimitiveType) or source.type.type == "binary":
                raise refusal
            if isinstance(each.transform, _transforms.IdentityTransform):
                partitions.append(PartitionColumn(source.name, place, source.type, _identity(source.type)))
                continue
            found = _generated(each.transform, source)
            if found is None:
                raise refusal
            expression, data_type, value = found
            highest += 1
            keys = {FIELD_ID_KEY: highest, PHYSICAL_NAME_KEY: each.name, GENERATION_KEY: expression}
            columns.append(Field(each.name, data_type, True, keys))
            partitions.append(PartitionColumn(each.name, place, data_type, value))
        return cls(Schema(columns), partitions)


def _field(each: Any, path: str, uri: str, *, optional: bool = False) -> Field:
    if each.initial_default is not None or each.write_default is not None:
        raise UnsupportedFeatureError(
            f"the column {path} of the Iceberg table {uri} has a default, which is not converted; rewrite its"
            " files and drop the default first",
            feature="conversion of Iceberg defaults",
        )
    ids: dict[str, int] = {}
    # Delta has no NOT NULL inside arrays and maps, and would refuse a NULL struct for one inside a struct.
    nullable = optional or not each.required
    data_type = _type(each.field_type, path, uri, each.name, ids, nullable)
    keys: dict[str, Any] = {FIELD_ID_KEY: each.field_id, PHYSICAL_NAME_KEY: each.name}
    if ids:
        keys[NESTED_IDS_KEY] = ids
    if each.doc:
        keys[COMMENT_KEY] = each.doc
    return Field(each.name, data_type, nullable, keys)


def _type(found: Any, path: str, uri: str, place: str, ids: dict[str, int], optional: bool) -> DataType:
    """Return a type; `ids` gets the ids of parts of arrays and maps, by their place in the column."""
    if isinstance(found, _types.StructType):
        fields = [_field(each, f"{path}.{each.name}", uri, optional=optional) for each in found.fields]
        return StructType(fields)

    def part(name: str, number: int, inner: Any) -> DataType:
        ids[f"{place}.{name}"] = number
        return _type(inner, f"{path}.{name}", uri, f"{place}.{name}", ids, True)

    if isinstance(found, _types.ListType):
        return ArrayType(part("element", found.element_id, found.element_type))
    if isinstance(found, _types.MapType):
        key = part("key", found.key_id, found.key_type)
        return MapType(key, part("value", found.value_id, found.value_type))
    if isinstance(found, _types.DecimalType):
        return PrimitiveType(f"decimal({found.precision},{found.scale})")
    name = _PRIMITIVES.get(type(found))
    if name is None:
        raise UnsupportedFeatureError(
            f"the column {path} of the Iceberg table {uri} has the type {found}, which Delta has not; write"
            " it with another type first",
            feature=f"Iceberg's type {found}",
        )
    return PrimitiveType(name)


def _identity(data_type: PrimitiveType) -> Callable[[Any], Any]:
    name = data_type.type
    readers: Mapping[str, Callable[[Any], Any]] = {
        "date": _date,
        "timestamp_ntz": _wall_time,
        "timestamp": lambda raw: _wall_time(raw).replace(tzinfo=dt.UTC),
    }
    return readers.get(name, lambda raw: raw)


def _generated(transform: Any, source: Field) -> tuple[str, PrimitiveType, Callable[[Any], Any]] | None:
    """Return a generated column as Spark makes it: the expression, the type and how a value is read."""
    assert isinstance(source.type, PrimitiveType)
    kind = source.type.type
    name = "`" + source.name.replace("`", "``") + "`" if not source.name.isidentifier() else source.name
    if isinstance(transform, _transforms.TruncateTransform):
        width = transform.width
        if kind == "string":
            return f"substring({name}, 0, {width})", source.type, lambda raw: raw
        if kind in ("integer", "long"):
            return f"{name} - (({name} % {width}) + {width}) % {width}", source.type, lambda raw: raw
    if kind not in _TIMES:
        return None
    if isinstance(transform, _transforms.YearTransform):
        return f"year({name})", PrimitiveType("integer"), lambda raw: 1970 + raw
    if isinstance(transform, _transforms.MonthTransform):
        return f"date_format({name}, 'yyyy-MM')", PrimitiveType("string"), _month
    if isinstance(transform, _transforms.DayTransform):
        return f"cast({name} as date)", PrimitiveType("date"), _date
    return None


def _date(raw: int) -> dt.date:
    return _FIRST_DAY + dt.timedelta(days=raw)


def _wall_time(raw: int) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=raw)


def _month(raw: int) -> str:
    return f"{1970 + raw // 12:04}-{raw % 12 + 1:02}"
