"""CHAR(n) columns: strings that Spark shows and compares padded with spaces to n characters.

In Delta such a column is a string whose metadata keeps the declared type. Data files hold its values padded
or not, as their writers left them. Spark pads strings of CHAR(n) anywhere in a column when it reads a table.
Where a condition compares a whole column, it pads the other side too.
"""

import re

from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY
from deltaarrow.schema.types import Field

__all__ = ["char_length", "holds_char"]

_CHAR = re.compile(r"char\(([0-9]{1,9})\)", re.IGNORECASE)
_CHAR_INSIDE = re.compile(r"\bchar\b", re.IGNORECASE)


def char_length(field: Field) -> int | None:
    """Return the n of a column that is CHAR(n) as a whole; None for all others.

    >>> char_length(Field("code", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}))
    4
    """
    found = _CHAR.fullmatch(str(field.metadata.get(CHAR_TYPE_KEY, "")))
    return None if found is None else int(found[1])


def holds_char(field: Field) -> bool:
    """Whether a column is CHAR(n), or declares it for strings inside."""
    metadata = field.metadata
    return (
        bool(metadata)
        and CHAR_TYPE_KEY in metadata
        and bool(_CHAR_INSIDE.search(str(metadata[CHAR_TYPE_KEY])))
    )
