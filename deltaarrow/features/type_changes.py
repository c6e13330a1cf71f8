"""Allowed type changes of columns: chapter "Type Widening" of the protocol.

The schema records them in the metadata ``delta.typeChanges`` of the nearest column or struct member:
``{"fromType": "integer", "toType": "long", "fieldPath": "element.key"}``, where the path continues into
arrays and maps. A reader checks all of them, since old files have the old types. With precision p, scale s
and i = p - s digits before the point, these changes are allowed::

    byte, short, integer        to a longer one of them, long, double, and decimals of i >= 10
    long                        to decimals of i >= 20
    float                       to double
    date                        to timestamp_ntz
    decimal(i + s, s)           to decimals of no smaller i and no smaller s

While the feature was a preview, bytes and shorts could also become decimals of i >= 3 and i >= 5; such tables
list ``typeWidening-preview``.
"""

from collections.abc import Iterator, Mapping

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY

__all__ = ["find_refused_change", "is_allowed_change"]


_WHOLE_NUMBERS = ("byte", "short", "integer", "long")
_DIGITS = {"byte": 10, "short": 10, "integer": 10, "long": 20}
"""Digits before the point of a decimal that a type may become; Parquet stores bytes and shorts as ints."""
_DIGITS_IN_PREVIEW = _DIGITS | {"byte": 3, "short": 5}


def is_allowed_change(old: PrimitiveType, new: PrimitiveType, *, in_preview: bool = False) -> bool:
    """Whether a column of type `old` may have become one of type `new`, or is unchanged.

    `in_preview` says whether the change may date from the preview of the feature.

    >>> is_allowed_change(PrimitiveType("integer"), PrimitiveType("decimal(12,2)"))
    True
    >>> is_allowed_change(PrimitiveType("long"), PrimitiveType("double"))
    False
    """
    if old == new or (old.type, new.type) in (("float", "double"), ("date", "timestamp_ntz")):
        return True
    if new.decimal is not None:
        digits, scale = new.decimal[0] - new.decimal[1], new.decimal[1]
        if old.decimal is not None:
            return digits >= old.decimal[0] - old.decimal[1] and scale >= old.decimal[1]
        least = (_DIGITS_IN_PREVIEW if in_preview else _DIGITS).get(old.type)
        return least is not None and digits >= least
    if old.type not in _WHOLE_NUMBERS:
        return False
    if new.type == "double":
        return old.type != "long"
    return new.type in _WHOLE_NUMBERS[_WHOLE_NUMBERS.index(old.type) :]


def find_refused_change(schema: StructType, *, in_preview: bool = False) -> str | None:
    """Describe the first recorded type change that is not allowed; None if all are allowed."""
    return next(_refused(schema, (), in_preview), None)


def _refused(data_type: DataType, path: tuple[str, ...], in_preview: bool) -> Iterator[str]:
    match data_type:
        case StructType():
            for field in data_type.fields:
                inner = (*path, field.name)
                if TYPE_CHANGES_KEY in field.metadata:
                    yield from _refused_changes(field.metadata[TYPE_CHANGES_KEY], inner, in_preview)
                yield from _refused(field.type, inner, in_preview)
        case ArrayType():
            yield from _refused(data_type.element_type, (*path, "element"), in_preview)
        case MapType():
            yield from _refused(data_type.key_type, (*path, "key"), in_preview)
            yield from _refused(data_type.value_type, (*path, "value"), in_preview)


def _refused_changes(changes: object, path: tuple[str, ...], in_preview: bool) -> Iterator[str]:
    column = ".".join(path)
    if not isinstance(changes, list | tuple):
        yield f"the column {column} has type changes that are not a list"
        return
    for change in changes:
        if not isinstance(change, Mapping):
            yield f"the column {column} has a type change that is not a JSON object"
            continue
        old, new, inside = (
            _type(change.get("fromType")),
            _type(change.get("toType")),
            change.get("fieldPath", ""),
        )
        if old is None or new is None or not isinstance(inside, str):
            yield f"the column {column} has a type change that cannot be parsed: {dict(change)}"
        elif not is_allowed_change(old, new, in_preview=in_preview):
            where = f"{column}.{inside}" if inside else column
            yield f"the column {where} was changed from {old.type} to {new.type}"


def _type(name: object) -> PrimitiveType | None:
    if not isinstance(name, str):
        return None
    try:
        return PrimitiveType(name)
    except (UnsupportedFeatureError, CorruptLogError):
        return None
