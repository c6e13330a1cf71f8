"""`TableReference`: the path or the name of the table behind a `DeltaTable` of Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltaarrow.spark_sql import TableName, Words

__all__ = ["TableReference", "reference_of_name", "reference_of_path"]

_PLACES = "delta"


@dataclass(frozen=True)
class TableReference:
    """A table and the alias under which conditions name it.

    Attributes:
        name: the name, ``("delta", path)`` for a table by its path.
        storage_options: how to reach a table by its path; may hold credentials.
        alias: the alias that the user gave; None without one.
    """

    name: TableName
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)
    alias: str | None = None

    @property
    def qualifier(self) -> str | None:
        """What qualifies the columns of the table: its alias or its name; None for a path."""
        if self.alias is not None:
            return self.alias
        is_path = len(self.name.parts) == 2 and self.name.parts[0].lower() == _PLACES
        return None if is_path else self.name.parts[-1]


def reference_of_path(path: str, storage_options: Mapping[str, str] | None = None) -> TableReference:
    """Return the reference to the table in a folder.

    >>> reference_of_path("/data/orders").name.text
    'delta.`/data/orders`'
    """
    return TableReference(TableName((_PLACES, path)), storage_options)


def reference_of_name(name: str) -> TableReference:
    """Return the reference to the table of a name in SQL.

    Raises `UnsupportedFeatureError` for a string that is not such a name.

    >>> reference_of_name("shop.`my orders`").name.parts
    ('shop', 'my orders')
    """
    words = Words(name)
    found = words.table_name()
    words.expect_end()
    return TableReference(TableName(found.parts))
