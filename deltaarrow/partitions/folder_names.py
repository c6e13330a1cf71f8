"""Folder names of partitioned tables, in the format of Hive and Spark.

``a=1/ts=2026-01-01 00%3A00%3A00/b=__HIVE_DEFAULT_PARTITION__``: for people, and for tools that look at
folders. Delta reads values only from the log (chapter *Partition Value Serialization* of the protocol).
Tables with column mapping or `delta.randomizeFilePrefixes` have randomly named folders instead.
"""

import datetime as dt
import random
import string
from collections.abc import Mapping
from typing import Any

from deltaarrow.partitions.values import render_partition_value, render_timestamp
from deltaarrow.schema import PrimitiveType

__all__ = ["DEFAULT_PARTITION", "escape_path_name", "partition_folder", "random_prefix"]

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder of NULL and of the empty string."""

_ESCAPES = {code: f"%{code:02X}" for code in (*range(0x20), 0x7F, *b"\"#%'*/:=?\\{[]^")}
_ALPHANUMERIC = string.ascii_letters + string.digits


def partition_folder(values: Mapping[str, Any], types: Mapping[str, PrimitiveType]) -> str:
    """The folder, relative to the table, of files with these partition values.

    The name is not percent-encoded as a URI; ``add.path`` encodes it additionally.

    Args:
        values: Python values by column, in the order of the partition columns.
        types: the types of the columns.

    Raises:
        UnsupportedFeatureError, TypeError, ValueError: as for `render_partition_value`.

    >>> partition_folder({"a": 1, "b": "x/y"}, {"a": PrimitiveType("long"), "b": PrimitiveType("string")})
    'a=1/b=x%2Fy'
    """
    return "/".join(
        f"{escape_path_name(name)}={escape_path_name(_text(value, types[name]) or DEFAULT_PARTITION)}"
        for name, value in values.items()
    )


def random_prefix(length: int = 2) -> str:
    """A random folder name of letters and digits, which spreads files over a store's key space.

    Args:
        length: the number of characters, from the table property `delta.randomPrefixLength`.
    """
    return "".join(random.SystemRandom().choices(_ALPHANUMERIC, k=length))


def escape_path_name(name: str) -> str:
    """A name with the characters escaped that Hive escapes in folder names; the others are unchanged.

    >>> escape_path_name("10:30 é")
    '10%3A30 é'
    """
    return name.translate(_ESCAPES)


def _text(value: Any, data_type: PrimitiveType) -> str | None:
    text = render_partition_value(value, data_type)
    if data_type.type == "timestamp" and text is not None:
        # Local time in a session whose time zone is UTC.
        return render_timestamp(value.astimezone(dt.UTC))
    return text
