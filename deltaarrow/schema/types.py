"""Types of a Delta schema and their JSON (PROTOCOL.md, *Schema Serialization Format*).

Types are frozen, hashable, picklable and comparable. ``extra`` keeps JSON keys that this release does not
know, so that they are written again; column metadata is kept verbatim. Names and reprs are those of
``deltalake``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from deltaarrow.display.absent_names import TellingClass, TellingNames
from deltaarrow.display.near_names import did_you_mean, no_column
from deltaarrow.errors import CorruptLogError, SchemaMismatchError, UnknownTypeError, UnsupportedFeatureError
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema.arrow_form import ArrowForm, of_arrow
from deltaarrow.schema.field_list import FieldList
from deltaarrow.schema.json_objects import JsonObject, JsonValue, parse_json, render_json

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FLOATING",
    "ArrayType",
    "DataType",
    "Field",
    "MapType",
    "PrimitiveType",
    "StructType",
    "VariantType",
    "data_type_from_json",
]

_OTHER_NAMES = {
    "int": "integer",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "bigint": "long",
    "str": "string",
    "text": "string",
    "varchar": "string",
    "float32": "float",
    "float64": "double",
    "bool": "boolean",
    "bytes": "binary",
    "date32": "date",
    "datetime": "timestamp",
}
"""Names of types elsewhere -> Delta's."""
_PRIMITIVES = (
    *("string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary"),
    *("date", "timestamp", "timestamp_ntz", "variant", "void"),
)
_TYPE_NAMES = ", ".join((*_PRIMITIVES, "decimal(precision,scale)"))
# Further spellings that Spark's schema parser accepts.
_ALIASES = {"null": "void"}
_BARE_DECIMAL = "decimal(10,0)"
"""What ``decimal`` without digits means in the JSON of a schema, as in Spark."""
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,3})\s*,\s*(-?\d{1,3})\s*\)")
_MAX_PRECISION = 38
# Arrow's C interface allows 64 levels of nesting; some are reserved for structs around a table's columns.
_MAX_ARROW_DEPTH = 60
_EMPTY = JsonObject()


class _Described(TellingNames):
    """Base class with `to_json` and `from_json`, over `_to_value` and `_from_value` of each class."""

    # Of older releases of deltalake.
    _instead_of: ClassVar[Mapping[str, str]] = {
        "to_pyarrow": "to_arrow()",
        "from_pyarrow": "from_arrow(type)",
    }

    def to_json(self) -> str:
        """Return the compact JSON text, as Spark writes it."""
        return render_json(self._to_value())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse a JSON text.

        Raises:
            CorruptLogError: the text is not JSON, or does not describe an object of this class.
            UnsupportedFeatureError: the text names a type that this release does not know.
        """
        return cls._from_json(text)

    @classmethod
    @lru_cache(maxsize=128)
    def _from_json(cls, text: str | bytes) -> Self:
        # A table's metadata is parsed many times and rarely changes between versions.
        value = parse_json(text)
        try:
            found = cls._from_value(value, "")
            too_deep = _arrow_depth(found) > _MAX_ARROW_DEPTH
        except RecursionError:
            too_deep = True
        if too_deep:
            raise CorruptLogError(
                f"the schema is nested too deeply: it has more than {_MAX_ARROW_DEPTH} levels, which Arrow"
                " cannot read"
            )
        return found

    def _to_value(self) -> JsonValue:
        raise NotImplementedError

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        raise NotImplementedError


class _Type(ArrowForm, _Described):
    """Base class of the types, with their Arrow form."""


@dataclass(frozen=True, repr=False)
class PrimitiveType(_Type):
    """A primitive type, named as in the log; decimals are ``decimal(precision,scale)``.

    Raises:
        UnknownTypeError: the protocol has no primitive type of this name.

    >>> PrimitiveType("decimal(10, 2)")
    PrimitiveType("decimal(10,2)")
    """

    type: str

    def __post_init__(self) -> None:
        name = _ALIASES.get(self.type, self.type)
        if name not in _PRIMITIVES:
            name = _normalised_decimal(name)
        object.__setattr__(self, "type", name)

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a decimal; None for any other type."""
        match = _DECIMAL.fullmatch(self.type)
        return (int(match[1]), int(match[2])) if match else None

    def __repr__(self) -> str:
        return f'PrimitiveType("{self.type}")'

    def _to_value(self) -> JsonValue:
        return self.type

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        if not isinstance(value, str):
            raise _corrupt(path, "has no type name")
        try:
            return cls(_BARE_DECIMAL if value == "decimal" else value)
        except UnknownTypeError as error:
            raise UnknownTypeError(f"{_at(path)}{error}", feature=error.feature) from None


class _OfVariant(TellingClass):
    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, PrimitiveType) and instance.type == "variant"


class VariantType(PrimitiveType, metaclass=_OfVariant):
    """The type of semi-structured values: another spelling of ``PrimitiveType("variant")``.

    >>> VariantType() == PrimitiveType("variant"), isinstance(PrimitiveType("variant"), VariantType)
    (True, True)
    """

    def __new__(cls, type: str = "variant") -> Any:
        """Return the primitive type.

        Raises:
            TypeError: `type` names another type.
        """
        if type != "variant":
            raise TypeError(f"{type!r} is not the variant type; use PrimitiveType")
        return PrimitiveType(type)


FLOATING = (PrimitiveType("float"), PrimitiveType("double"))
"""The types with NaN and -0.0, which Spark orders differently from IEEE 754."""


@dataclass(frozen=True, repr=False)
class ArrayType(_Type):
    """An array of values of one type.

    Args:
        element_type: the type of the elements, or the name of a primitive type.
        contains_null: whether elements may be NULL.
        extra: unknown JSON keys, kept for writing.

    >>> ArrayType("long", contains_null=False).to_json()
    '{"type":"array","elementType":"long","containsNull":false}'
    """

    element_type: "DataType"
    contains_null: bool = True
    extra: JsonObject = field(default=_EMPTY, kw_only=True)

    def __init__(
        self,
        element_type: "DataType | str",
        contains_null: bool = True,
        *,
        extra: Mapping[str, JsonValue] = _EMPTY,
    ) -> None:
        _set(self, element_type=_data_type(element_type), contains_null=contains_null, extra=_frozen(extra))

    @property
    def type(self) -> str:
        """The text ``array``."""
        return "array"

    def __repr__(self) -> str:
        return f"ArrayType({self.element_type!r}, contains_null={self.contains_null})"

    def _to_value(self) -> JsonValue:
        return {
            "type": "array",
            "elementType": self.element_type._to_value(),
            "containsNull": self.contains_null,
            **self.extra,
        }

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        parts = _parts(value, "array", path)
        element = _read_type(_take(parts, "elementType", path), f"{path}.element")
        return cls(element, _flag(parts, "containsNull", path), extra=parts)


@dataclass(frozen=True, repr=False)
class MapType(_Type):
    """A map from keys, which are never NULL, to values.

    Args:
        key_type: the type of the keys, or the name of a primitive type.
        value_type: the type of the values, or the name of a primitive type.
        value_contains_null: whether values may be NULL.
        extra: unknown JSON keys, kept for writing.

    >>> MapType("string", "long").to_json()
    '{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}'
    """

    key_type: "DataType"
    value_type: "DataType"
    value_contains_null: bool = True
    extra: JsonObject = field(default=_EMPTY, kw_only=True)

    def __init__(
        self,
        key_type: "DataType | str",
        value_type: "DataType | str",
        value_contains_null: bool = True,
        *,
        extra: Mapping[str, JsonValue] = _EMPTY,
    ) -> None:
        _set(self, key_type=_data_type(key_type), value_type=_data_type(value_type))
        _set(self, value_contains_null=value_contains_null, extra=_frozen(extra))

    @property
    def type(self) -> str:
        """The text ``map``."""
        return "map"

    def __repr__(self) -> str:
        return (
            f"MapType({self.key_type!r}, {self.value_type!r}, value_contains_null={self.value_contains_null})"
        )

    def _to_value(self) -> JsonValue:
        return {
            "type": "map",
            "keyType": self.key_type._to_value(),
            "valueType": self.value_type._to_value(),
            "valueContainsNull": self.value_contains_null,
            **self.extra,
        }

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        parts = _parts(value, "map", path)
        key = _read_type(_take(parts, "keyType", path), f"{path}.key")
        item = _read_type(_take(parts, "valueType", path), f"{path}.value")
        return cls(key, item, _flag(parts, "valueContainsNull", path), extra=parts)


@dataclass(frozen=True, repr=False)
class Field(_Described):
    """A column of a table, or a field of a struct.

    Args:
        name: the logical name.
        type: the type, or the name of a primitive type.
        nullable: whether the column may be NULL.
        metadata: JSON values by key, kept verbatim.
        extra: unknown JSON keys, kept for writing.

    >>> Field("id", "long", nullable=False)
    Field(id, PrimitiveType("long"), nullable=False)
    """

    name: str
    type: "DataType"
    nullable: bool = True
    metadata: JsonObject = _EMPTY
    extra: JsonObject = field(default=_EMPTY, kw_only=True)

    def __init__(
        self,
        name: str,
        type: "DataType | str",
        nullable: bool = True,
        metadata: Mapping[str, JsonValue] | None = None,
        *,
        extra: Mapping[str, JsonValue] = _EMPTY,
    ) -> None:
        _set(self, name=name, type=_data_type(type), nullable=nullable)
        _set(self, metadata=_frozen(metadata or _EMPTY), extra=_frozen(extra))

    def to_arrow(self) -> "pa.Field":
        """Return the Arrow field of the column, with its metadata."""
        return of_arrow("to_arrow_field")(self)

    @classmethod
    def from_arrow(cls, field: "pa.Field") -> Self:
        """Return the column for the values of an Arrow field.

        Args:
            field: a `pyarrow.Field`, or an object with ``__arrow_c_schema__``.

        Raises:
            UnsupportedFeatureError: Delta has no such type.
        """
        import pyarrow as pa  # lazy: types are used without Arrow

        found: Self = of_arrow("from_arrow_field")(pa.field(field))
        return found

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow form, for libraries that take Arrow objects of any package."""
        return self.to_arrow().__arrow_c_schema__()

    def __repr__(self) -> str:
        metadata = f", metadata={self.metadata!r}" if self.metadata else ""
        return f"Field({self.name}, {self.type!r}, nullable={self.nullable}{metadata})"

    def _to_value(self) -> JsonValue:
        return {
            "name": self.name,
            "type": self.type._to_value(),
            "nullable": self.nullable,
            "metadata": self.metadata,
            **self.extra,
        }

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        if not isinstance(value, dict):
            raise _corrupt(path, "holds a field that is not a JSON object")
        parts = dict(value)
        name = parts.pop("name", None)
        if not isinstance(name, str):
            raise _corrupt(path, "holds a field without a name")
        if "\0" in name:
            # Arrow's C interface ends names at NUL.
            raise _corrupt(path, f"holds a field whose name contains a NUL: {name!r}")
        path = f"{path}.{name}" if path else name
        metadata = parts.pop("metadata", None)
        if not isinstance(metadata, dict | None):
            raise _corrupt(path, "has metadata that is not a JSON object")
        data_type = _read_type(_take(parts, "type", path), path)
        return cls(name, data_type, _flag(parts, "nullable", path), metadata, extra=parts)


@dataclass(frozen=True, repr=False)
class StructType(_Type):
    """A struct: named fields in order.

    Args:
        fields: the fields.
        extra: unknown JSON keys, kept for writing.

    >>> StructType([Field("x", "long")]).names
    ['x']
    """

    fields: tuple[Field, ...]
    extra: JsonObject = field(default=_EMPTY, kw_only=True)

    def __init__(self, fields: Iterable[Field] = (), *, extra: Mapping[str, JsonValue] = _EMPTY) -> None:
        _set(self, fields=FieldList(fields), extra=_frozen(extra))

    @property
    def type(self) -> str:
        """The text ``struct``."""
        return "struct"

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self.fields))}])"

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields, not the lookup tables built from them."""
        return _rebuild_struct, (type(self), self.fields, self.extra)

    @property
    def names(self) -> list[str]:
        """The names of the fields, in order."""
        return [each.name for each in self.fields]

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {each.name: each for each in self.fields}

    @cached_property
    def _by_lower_name(self) -> dict[str, list[Field]]:
        found: dict[str, list[Field]] = {}
        for each in self.fields:
            found.setdefault(each.name.lower(), []).append(each)
        return found

    def find(self, name: str) -> Field | None:
        """Return the field of a name: the exact match, else the only one that differs in case, else None."""
        exact = self._by_name.get(name)
        if exact is not None:
            return exact
        alike = self._by_lower_name.get(name.lower(), ())
        return alike[0] if len(alike) == 1 else None

    def field(self, name: str) -> Field:
        """Return the field of a name, like `find`, or raise.

        Raises:
            SchemaMismatchError: no field matches, or only several fields that differ in case.
        """
        found = self.find(name)
        if found is None:
            raise SchemaMismatchError(no_column(name, self.names))
        return found

    def _to_value(self) -> JsonValue:
        return {"type": "struct", "fields": [each._to_value() for each in self.fields], **self.extra}

    @classmethod
    def _from_value(cls, value: JsonValue, path: str) -> Self:
        parts = _parts(value, "struct", path)
        fields = _take(parts, "fields", path)
        if not isinstance(fields, list):
            raise _corrupt(path, "has fields that are not a list")
        found = cls((Field._from_value(each, path) for each in fields), extra=parts)
        if len(found._by_name) < len(found.fields):
            raise _corrupt(path, "has two fields of one name")
        return found


DataType: TypeAlias = PrimitiveType | ArrayType | MapType | StructType
"""Any type that a column can have."""

_COMPLEX: dict[str, type[ArrayType] | type[MapType] | type[StructType]] = {
    "array": ArrayType,
    "map": MapType,
    "struct": StructType,
}


def data_type_from_json(text: str | bytes) -> DataType:
    """Parse the JSON text of a type of any kind.

    Raises:
        CorruptLogError: the text is not JSON, or not a type.
        UnsupportedFeatureError: the text names a type that this release does not know.

    >>> data_type_from_json('"long"')
    PrimitiveType("long")
    """
    value = parse_json(text)
    try:
        return _read_type(value, "")
    except RecursionError as error:
        raise CorruptLogError(
            "the type is nested too deeply: it has more levels than Python can read"
        ) from error


def _read_type(value: JsonValue, path: str) -> DataType:
    if isinstance(value, str):
        return PrimitiveType._from_value(value, path)
    if not isinstance(value, dict):
        raise _corrupt(path, "has a type that is neither a name nor a JSON object")
    kind = value.get("type")
    reader = _COMPLEX.get(kind) if isinstance(kind, str) else None
    if reader is None:
        raise UnsupportedFeatureError(f"{_at(path)}the type {kind!r} is not supported", feature=str(kind))
    return reader._from_value(value, path)


def _normalised_decimal(name: str) -> str:
    match = _DECIMAL.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise UnknownTypeError(
            f"the type {name!r} is not supported{_meant_type(str(name))} (types: {_TYPE_NAMES})",
            feature=str(name),
        )
    precision, scale = int(match[1]), int(match[2])
    if not (1 <= precision <= _MAX_PRECISION and 0 <= scale <= precision):
        raise UnknownTypeError(
            f"the type {name!r} is not supported: a decimal has a precision of 1 to {_MAX_PRECISION} and a"
            " scale from 0 to the precision",
            feature=name,
        )
    return f"decimal({precision},{scale})"


def _meant_type(name: str) -> str:
    other = _OTHER_NAMES.get(name.lower())
    return did_you_mean(name, _PRIMITIVES) if other is None else f"; did you mean `{other}`?"


def _data_type(given: DataType | str) -> DataType:
    if isinstance(given, str):
        return PrimitiveType(given)
    if not isinstance(given, DataType):
        raise TypeError(f"a type is a Delta type or the name of a primitive type, not {type(given).__name__}")
    return given


def _arrow_depth(described: object) -> int:
    """Return the number of levels of the Arrow type; a map counts as two, its entries and their fields."""
    if isinstance(described, Field):
        return _arrow_depth(described.type)
    if isinstance(described, StructType):
        return 1 + max(map(_arrow_depth, described.fields), default=0)
    if isinstance(described, ArrayType):
        return 1 + _arrow_depth(described.element_type)
    if isinstance(described, MapType):
        return 2 + max(_arrow_depth(described.key_type), _arrow_depth(described.value_type))
    return 1


def _frozen(values: Mapping[str, JsonValue]) -> JsonObject:
    if isinstance(values, JsonObject):
        return values
    return JsonObject(values) if values else _EMPTY


def _set(target: object, **values: object) -> None:
    for name, value in values.items():
        object.__setattr__(target, name, value)


def _rebuild_struct(kind: type[StructType], fields: tuple[Field, ...], extra: JsonObject) -> StructType:
    return kind(fields, extra=extra)


def _parts(value: JsonValue, kind: str, path: str) -> dict[str, JsonValue]:
    if not isinstance(value, dict) or value.get("type") != kind:
        raise _corrupt(path, f"is not described as a {kind}")
    return {key: item for key, item in value.items() if key != "type"}


def _take(parts: dict[str, JsonValue], key: str, path: str) -> JsonValue:
    if key not in parts:
        raise _corrupt(path, f"lacks {key!r}")
    return parts.pop(key)


def _flag(parts: dict[str, JsonValue], key: str, path: str) -> bool:
    # Absent means nullable, so a forgotten key never rejects NULLs.
    value = parts.pop(key, True)
    if not isinstance(value, bool):
        raise _corrupt(path, f"has a value of {key!r} that is neither true nor false")
    return value


def _at(path: str) -> str:
    return f"column {path!r}: " if path else ""


def _corrupt(path: str, what: str) -> CorruptLogError:
    return CorruptLogError(f"{f'column {path!r}' if path else 'the schema'} {what}")
