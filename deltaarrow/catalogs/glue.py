"""AWS Glue Data Catalog as a catalog of names: databases are namespaces, and tables tell where they are.

Glue keeps the place of a Delta table, not its commits. The properties of a table say that it is one, as
Spark, Athena and the crawlers of Glue write them. Tables that are registered here have those of all three.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, Never

from deltaarrow.catalogs.namespace import TableLocation, View, fold
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import DeltaError, StorageError, UnsupportedFeatureError
from deltaarrow.runtime.optional import require

__all__ = ["GlueCatalog"]

_PROVIDER, _TABLE_TYPE, _CLASSIFICATION = "spark.sql.sources.provider", "table_type", "classification"
_MANAGED, _EXTERNAL = "MANAGED_TABLE", "EXTERNAL_TABLE"
_HIVE = {
    "InputFormat": "org.apache.hadoop.mapred.SequenceFileInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
}
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


class GlueCatalog:
    """The databases and Delta tables of AWS Glue in one region and account.

    Credentials come from where boto3 finds them: the environment, a profile, the machine's role. Needs the
    extra ``glue``.

    Args:
        region: the region, such as ``eu-west-1``; None for the one that boto3 finds.
        profile: a profile of AWS's configuration.
        catalog_id: the account, if it is another than that of the credentials.
        endpoint_url: the address of another server with the interface of Glue.
        storage_options: how to reach the tables; see `DeltaTable`. They are not those of Glue.

    Nothing is asked before a name is used. Names are kept in lower case, as Glue does. The methods raise
    `StorageError` if Glue cannot be reached or refuses, and `MissingDependencyError` without boto3.

    >>> GlueCatalog("eu-west-1")
    GlueCatalog('eu-west-1')
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        profile: str | None = None,
        catalog_id: str | None = None,
        endpoint_url: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._region, self._profile, self._endpoint_url = region, profile, endpoint_url
        self._account = {} if catalog_id is None else {"CatalogId": catalog_id}
        self.storage_options = dict(storage_options or {})
        self._opened: tuple[int, Any] | None = None

    def __repr__(self) -> str:
        return f"GlueCatalog({self._region!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}

    def namespaces(self) -> list[str]:
        """Return the names of all databases, in order."""
        return sorted(each["Name"] for each in self.listed("get_databases", "DatabaseList"))

    def namespace(self, name: str) -> "_GlueDatabase | None":
        """Return a database; None if there is none of that name."""
        try:
            found = self.call("get_database", Name=fold(name))["Database"]
        except KeyError:
            return None
        return _GlueDatabase(self, found["Name"], found.get("LocationUri"))

    def create_namespace(self, name: str) -> None:
        """Create a database. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""
        self.call("create_database", DatabaseInput={"Name": fold(name)})

    def drop_namespace(self, name: str) -> None:
        """Remove an empty database. `KeyError` if there is none, `ValueError` if it has tables or views."""
        database = self.namespace(name)
        if database is None:
            raise KeyError(name)
        if names := database.names():
            raise ValueError(f"the database {fold(name)} is not empty: drop its tables and views, {names}")
        self.call("delete_database", Name=fold(name))

    def call(self, method: str, **request: Any) -> dict[str, Any]:
        """Return Glue's answer.

        Raises `KeyError` for what is not there, `FileExistsError` for what is there already, `ValueError` for
        what Glue does not take, and `StorageError` if it cannot be reached or refuses.
        """
        with _answering():
            answer: dict[str, Any] = getattr(self._client, method)(**self._account, **request)
        return answer

    def listed(self, method: str, key: str, **request: Any) -> list[dict[str, Any]]:
        """Return the entries of all pages of a list; raises as `call` does."""
        with _answering():
            pages = self._client.get_paginator(method).paginate(**self._account, **request)
            return [each for page in pages for each in page[key]]

    @property
    def _client(self) -> Any:
        if self._opened is None or self._opened[0] != os.getpid():
            session = require("boto3").Session(profile_name=self._profile, region_name=self._region)
            self._opened = os.getpid(), session.client("glue", endpoint_url=self._endpoint_url)
        return self._opened[1]


class _GlueDatabase:
    """A database."""

    def __init__(self, catalog: GlueCatalog, name: str, place: str | None) -> None:
        self._catalog, self._name, self._place = catalog, name, place

    def find(self, name: str) -> TableLocation | None:
        """Return where a table is; None if there is none. `DeltaError` for one that is no Delta table."""
        try:
            found = self._catalog.call("get_table", DatabaseName=self._name, Name=fold(name))["Table"]
        except KeyError:
            return None
        shown = f"{self._name}.{found['Name']}"
        if not _is_delta(found):
            raise DeltaError(f"{shown} is in Glue, but is no Delta table there")
        uri = _location(found)
        if not uri:
            raise DeltaError(f"Glue does not tell where the table {shown} is")
        # A table that somebody else registered never gets its files deleted.
        is_own = found.get("TableType") == _MANAGED and self._place is not None and uri == self._own(name)
        return TableLocation(uri, self._catalog.storage_options or None, is_managed=is_own)

    def place_for(self, name: str) -> TableLocation:
        """Return the place of a new table: below that of the database."""
        if self._place is None:
            raise ValueError(
                f"the database {self._name} has no location in Glue: give the table one, or the database"
            )
        return TableLocation(self._own(name), self._catalog.storage_options or None, is_managed=True)

    def tables(self) -> list[str]:
        found = self._catalog.listed("get_tables", "TableList", DatabaseName=self._name)
        return sorted(each["Name"] for each in found if _is_delta(each))

    def names(self) -> list[str]:
        """The names of everything in the database, in order."""
        found = self._catalog.listed("get_tables", "TableList", DatabaseName=self._name)
        return sorted(each["Name"] for each in found)

    def add(self, name: str, location: TableLocation) -> None:
        """Register a table; its columns are in its log, where Spark and Athena read them."""
        serde = {"SerializationLibrary": _SERDE, "Parameters": {"path": location.uri}}
        table = {
            "Name": fold(name),
            "TableType": _MANAGED if location.is_managed else _EXTERNAL,
            "Parameters": {
                _PROVIDER: "delta",
                _TABLE_TYPE: "DELTA",
                _CLASSIFICATION: "delta",
                **({} if location.is_managed else {"EXTERNAL": "TRUE"}),
            },
            "StorageDescriptor": {"Columns": [], "Location": location.uri, "SerdeInfo": serde, **_HIVE},
        }
        self._catalog.call("create_table", DatabaseName=self._name, TableInput=table)

    def remove(self, name: str) -> None:
        self._catalog.call("delete_table", DatabaseName=self._name, Name=fold(name))

    def view(self, name: str) -> None:
        return None

    def views(self) -> list[str]:
        return []

    def add_view(self, view: View, *, may_replace: bool = False) -> Never:
        raise ValueError(f"views are not kept in Glue: make the view {view.name} in a file catalog")

    def remove_view(self, name: str) -> Never:
        raise KeyError(name)

    def _own(self, name: str) -> str:
        return f"{(self._place or '').rstrip('/')}/{fold(name)}"


def _is_delta(table: Mapping[str, Any]) -> bool:
    parameters = table.get("Parameters") or {}
    kinds = (parameters.get(key, "") for key in (_PROVIDER, _TABLE_TYPE, _CLASSIFICATION))
    return any(kind.lower() == "delta" for kind in kinds)


def _location(table: Mapping[str, Any]) -> str:
    """The place of a table. Spark keeps it as a parameter, and may have a placeholder for the location."""
    storage = table.get("StorageDescriptor") or {}
    parameters = (storage.get("SerdeInfo") or {}).get("Parameters") or {}
    uri = parameters.get("path") or storage.get("Location") or ""
    return str(uri).rstrip("/")


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Convert errors of boto3 to those of a catalog."""
    require("boto3")
    from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

    try:
        yield
    except ParamValidationError as error:
        raise ValueError(str(error)) from error
    except ClientError as error:
        code, said = error.response["Error"].get("Code", ""), error.response["Error"].get("Message", "")
        match code:
            case "EntityNotFoundException":
                raise KeyError(said) from error
            case "AlreadyExistsException":
                raise FileExistsError(said) from error
            case "InvalidInputException" | "ValidationException":
                raise ValueError(said) from error
            case "AccessDeniedException":
                raise StorageError(f"Glue refuses: {redacted(said)}") from error
            case "FederationSourceException" | "OperationNotSupportedException":
                raise UnsupportedFeatureError(redacted(said), feature="Glue") from error
        raise StorageError(f"Glue refuses: {code}: {redacted(said)}") from error
    except BotoCoreError as error:
        raise StorageError(
            f"cannot reach Glue: {redacted(str(error)).rstrip('.')}; check the region, the credentials and"
            " the network"
        ) from error
