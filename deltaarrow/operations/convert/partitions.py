"""Partition columns of a folder of files, from the names of its folders.

With the strategy ``hive`` every folder ``name=value`` is a partition, other folders are none, and all files
have the same columns in the same order. With ``directory`` the folders of a file are the values, in order.
Columns are given with types, or found; a found column gets the first of these types that all its values have:

=========  =================================================================
type       its values
=========  =================================================================
integer    whole numbers of 32 bits, without leading zeros or a plus sign
long       the same of 64 bits
date       ``2026-01-31``
string     anything else
=========  =================================================================

``__HIVE_DEFAULT_PARTITION__`` is NULL. The log gets the text of the folder, as in Spark.
"""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deltaarrow.errors import DeltaError, SchemaMismatchError
from deltaarrow.partitions import DEFAULT_PARTITION, parse_partition_value
from deltaarrow.schema import Field, PrimitiveType

__all__ = ["STRATEGIES", "FolderPartitions"]

STRATEGIES = ("hive", "directory")

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_WHOLE = re.compile(r"-?[1-9][0-9]{0,18}|0")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_Folder = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class FolderPartitions:
    """The partition columns of a folder, and the values of each folder in it, by column."""

    fields: tuple[Field, ...]
    values: dict[str, dict[str, str | None]]

    @classmethod
    def of(
        cls, folders: Sequence[str], given: Sequence[Field] | None, strategy: str, uri: str
    ) -> "FolderPartitions":
        """Return those of files in these folders; `given` are the columns, None if they are to be found.

        Raises `SchemaMismatchError` for a folder that does not fit, and for a value that is not of its type.
        """
        if strategy == "directory":
            parsed = {folder: _by_position(folder, given or ()) for folder in folders}
        else:
            parsed = {folder: _by_name(folder) for folder in folders}
        if given is None:
            fields = _found(parsed, uri)
        else:
            for each in given:
                if not isinstance(each.type, PrimitiveType):
                    raise SchemaMismatchError(f"the partition column {each.name!r} has no primitive type")
            fields = tuple(given)
        for folder, pairs in parsed.items():
            _ensure_columns(folder, pairs, fields, uri)
        checked: set[tuple[str, str]] = set()
        values: dict[str, dict[str, str | None]] = {}
        for folder, pairs in parsed.items():
            values[folder] = {}
            for field, (_, text) in zip(fields, pairs, strict=True):
                if text is not None and (field.name, text) not in checked:
                    _ensure_value(folder, field, text, uri)
                    checked.add((field.name, text))
                values[folder][field.name] = text or None
        return cls(fields, values)


def _by_name(folder: str) -> _Folder:
    pairs = (part.partition("=") for part in folder.split("/") if "=" in part)
    return tuple((_unescaped(name), _value(text)) for name, _, text in pairs)


def _by_position(folder: str, fields: Sequence[Field]) -> _Folder:
    parts = folder.split("/") if folder else []
    names = [field.name for field in fields] + [""] * len(parts)
    return tuple((name, _value(text)) for name, text in zip(names, parts, strict=False))


def _value(text: str) -> str | None:
    return None if text == DEFAULT_PARTITION else _unescaped(text)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "%" in text else text


def _ensure_columns(folder: str, pairs: _Folder, fields: Sequence[Field], uri: str) -> None:
    wanted = [field.name for field in fields]
    names = [name for name, _ in pairs]
    if len(names) != len(wanted):
        raise SchemaMismatchError(
            f"the folder {folder!r} of {uri} has the partition columns {names}, not {wanted}; all files"
            " need the"
            " same, so give partition_by, or move the files of that folder"
            " (Spark: DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME)"
        )
    for name, other in zip(names, wanted, strict=True):
        if name.lower() != other.lower():
            raise SchemaMismatchError(
                f"the folder {folder!r} of {uri} has the partition column {name!r} in the place of {other!r}"
                " (Spark: DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME)"
            )


def _ensure_value(folder: str, field: Field, text: str, uri: str) -> None:
    assert isinstance(field.type, PrimitiveType)
    try:
        parse_partition_value(text, field.type, field.name)
        is_value = text != "" or field.type.type in ("string", "binary")
    except DeltaError as error:
        raise SchemaMismatchError(_no_value(folder, field, text, uri)) from error
    if not is_value:
        raise SchemaMismatchError(_no_value(folder, field, text, uri))


def _no_value(folder: str, field: Field, text: str, uri: str) -> str:
    assert isinstance(field.type, PrimitiveType)
    return (
        f"the folder {folder!r} of {uri} has the value {text!r} of the partition column {field.name!r}, which"
        f" is no {field.type.type} (Spark: DELTA_PARTITION_COLUMN_CAST_FAILED)"
    )


def _found(parsed: dict[str, _Folder], uri: str) -> tuple[Field, ...]:
    first = next(iter(parsed.values()), ())
    names = [name for name, _ in first]
    placeholders = [Field(name, "string") for name in names]
    for folder, pairs in parsed.items():
        _ensure_columns(folder, pairs, placeholders, uri)
    texts: list[set[str]] = [set() for _ in names]
    for pairs in parsed.values():
        for known, (_, text) in zip(texts, pairs, strict=True):
            if text is not None:
                known.add(text)
    return tuple(Field(name, _type_of(known)) for name, known in zip(names, texts, strict=True))


def _type_of(texts: set[str]) -> str:
    if not texts:
        return "string"
    if all(map(_WHOLE.fullmatch, texts)):
        numbers = [int(text) for text in texts]
        for name, bits in (("integer", 31), ("long", 63)):
            if -(1 << bits) <= min(numbers) and max(numbers) < 1 << bits:
                return name
        return "string"
    return "date" if all(map(_is_date, texts)) else "string"


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True
