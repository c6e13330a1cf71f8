"""Entries of tables in Hive's metastore and in AWS Glue, and the parameters that mark a Delta table.

The metastore stores the location of a Delta table, not its commits. Spark, Athena and Glue's crawlers each
mark the entry of a Delta table by another parameter. Entries written here have all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Never, Protocol

from deltaarrow.catalogs.namespace import TableLocation, WithoutViews, fold, registered_uri
from deltaarrow.errors import DeltaError

__all__ = ["INPUT_FORMAT", "OUTPUT_FORMAT", "SERDE", "HiveDatabase", "HiveEntry", "HiveServer"]

INPUT_FORMAT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
"""The formats that Spark writes for a table that Hive cannot read."""

_PROVIDER, _TABLE_TYPE, _CLASSIFICATION = "spark.sql.sources.provider", "table_type", "classification"
_PATH = "path"
_MANAGED, _EXTERNAL = "MANAGED_TABLE", "EXTERNAL_TABLE"


@dataclass(frozen=True)
class HiveEntry:
    """A table of the metastore.

    Attributes:
        name: its name.
        table_type: ``MANAGED_TABLE``, ``EXTERNAL_TABLE``, or another, such as ``VIRTUAL_VIEW``.
        parameters: its parameters, some of which mark a Delta table.
        location: its location; Spark writes a placeholder if the table is outside its database's folder.
        serde_parameters: the parameters of its format, among which Spark stores the location.
    """

    name: str
    table_type: str | None
    parameters: Mapping[str, str]
    location: str | None
    serde_parameters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, location: TableLocation) -> "HiveEntry":
        """Return the entry of a Delta table; its columns are in its log, where Spark and Athena read them.

        `ValueError` for a location with a secret.
        """
        parameters = {_PROVIDER: "delta", _TABLE_TYPE: "DELTA", _CLASSIFICATION: "delta"}
        uri = registered_uri(location)
        place = f"file:{uri}" if uri.startswith("/") else uri
        return cls(
            fold(name),
            _MANAGED if location.is_managed else _EXTERNAL,
            parameters if location.is_managed else {**parameters, "EXTERNAL": "TRUE"},
            place,
            {_PATH: place},
        )

    @property
    def is_delta(self) -> bool:
        """Whether the entry is marked as a Delta table."""
        kinds = (self.parameters.get(key, "") for key in (_PROVIDER, _TABLE_TYPE, _CLASSIFICATION))
        return any(kind.lower() == "delta" for kind in kinds)

    @property
    def is_managed(self) -> bool:
        """Whether the metastore owns the files."""
        return self.table_type == _MANAGED

    @property
    def uri(self) -> str:
        """The location of the table; empty if the entry has none."""
        return _place(self.serde_parameters.get(_PATH) or self.location)


class HiveServer(Protocol):
    """A server that stores the entries of databases.

    The methods raise `KeyError` if the entry does not exist, `FileExistsError` if it exists already,
    `ValueError` for an invalid request, and `StorageError` if the server cannot be reached or refuses.
    """

    title: str

    @property
    def storage_options(self) -> Mapping[str, Any]:
        """The options of the stores of tables."""

    def entry(self, database: str, name: str) -> HiveEntry:
        """Return a table."""

    def entries(self, database: str) -> list[HiveEntry]:
        """Return all tables and views of a database."""

    def register(self, database: str, entry: HiveEntry) -> None:
        """Add a table."""

    def forget(self, database: str, name: str) -> None:
        """Remove a table, whose files stay."""


class HiveDatabase(WithoutViews):
    """A database of a metastore as a namespace; ``place`` is the location of the database."""

    def __init__(self, server: HiveServer, name: str, place: str | None) -> None:
        self._server, self._name, self._place = server, name, _place(place)
        self.title = server.title

    def find(self, name: str) -> TableLocation | None:
        """Return the location of a table; None if there is none. `DeltaError` if it is not a Delta table."""
        try:
            found = self._server.entry(self._name, fold(name))
        except KeyError:
            return None
        shown, title = f"{self._name}.{found.name}", self.title
        if not found.is_delta:
            raise DeltaError(f"{shown} is in {title}, but not marked as a Delta table there")
        if not found.uri:
            raise DeltaError(f"the entry of the table {shown} in {title} has no location")
        # DROP never deletes the files of a table that another program registered elsewhere.
        is_own = found.is_managed and bool(self._place) and found.uri == self._own(name)
        return TableLocation(found.uri, self._server.storage_options or None, is_managed=is_own)

    def place_for(self, name: str) -> TableLocation:
        """Return the location of a new table, below that of the database.

        If the database has none, `TableLocation.open` raises `ValueError`.
        """
        options = self._server.storage_options or None
        if not self._place:
            return TableLocation(f"{self._name}.{name}", options, is_managed=True, opener=self._open_nowhere)
        return TableLocation(self._own(name), options, is_managed=True)

    def _open_nowhere(self) -> Never:
        raise ValueError(
            f"the database {self._name} has no location in {self.title}: give one to the"
            " table or to the database"
        )

    def tables(self) -> list[str]:
        """Return the names of all Delta tables, in order."""
        return sorted(each.name for each in self._server.entries(self._name) if each.is_delta)

    def names(self) -> list[str]:
        """Return the names of everything in the database, in order."""
        return sorted(each.name for each in self._server.entries(self._name))

    def add(self, name: str, location: TableLocation) -> None:
        """Register a table. `FileExistsError` if there is one of its name."""
        self._server.register(self._name, HiveEntry.of(name, location))

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        """Forget a table, whose files stay. `KeyError` if there is none of that name."""
        self._server.forget(self._name, fold(name))

    def _own(self, name: str) -> str:
        return f"{self._place}/{fold(name)}"


def _place(uri: str | None) -> str:
    """A location as deltaarrow writes it. Hive stores a Hadoop path, which has no escapes.

    >>> _place("file:/warehouse/a%20b/"), _place("s3://bucket/t"), _place(None)
    ('/warehouse/a%20b', 's3://bucket/t', '')
    """
    text = (uri or "").rstrip("/")
    if text.startswith("file:/") and (not text.startswith("file://") or text.startswith("file:///")):
        return "/" + text.removeprefix("file:").lstrip("/")
    return text
