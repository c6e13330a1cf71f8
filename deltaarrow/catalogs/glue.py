"""AWS Glue Data Catalog as a catalog of names: its databases are namespaces.

Glue has the same kinds of entries as Hive's metastore; `deltaarrow.catalogs.hive_entries` has both.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from deltaarrow.catalogs.hive_entries import INPUT_FORMAT, OUTPUT_FORMAT, SERDE, HiveDatabase, HiveEntry
from deltaarrow.catalogs.namespace import fold
from deltaarrow.catalogs.web_requests import checked_server
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.runtime.optional import require

__all__ = ["GlueCatalog"]


class GlueCatalog:
    """The databases and Delta tables of AWS Glue in one region and account.

    boto3 finds the credentials: in the environment, a profile or the machine's role. Needs the extra
    ``glue``.

    Args:
        region: the region, such as ``eu-west-1``; None for the one that boto3 finds.
        profile: a profile of AWS's configuration.
        catalog_id: the account; None for that of the credentials.
        endpoint_url: the address of another server with Glue's interface.
        storage_options: options of the stores of tables, not of Glue; see `DeltaTable`. Pickles contain them.

    The constructor makes no request, and raises `ValueError` for a malformed address. Names are kept in lower
    case, as Glue does. The methods raise `StorageError` if Glue cannot be reached or refuses, and
    `MissingDependencyError` without boto3.

    >>> GlueCatalog("eu-west-1")
    GlueCatalog('eu-west-1')
    """

    title = "Glue"

    def __init__(
        self,
        region: str | None = None,
        *,
        profile: str | None = None,
        catalog_id: str | None = None,
        endpoint_url: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._region, self._profile = region, profile
        self._endpoint_url = None if endpoint_url is None else checked_server(endpoint_url)
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

    def namespace(self, name: str) -> HiveDatabase | None:
        """Return a database; None if there is none of that name."""
        try:
            found = self.call("get_database", Name=fold(name))["Database"]
        except KeyError:
            return None
        return HiveDatabase(self, found["Name"], found.get("LocationUri"))

    def create_namespace(self, name: str) -> None:
        """Create a database. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""
        self.call("create_database", DatabaseInput={"Name": fold(name)})

    def drop_namespace(self, name: str) -> None:
        """Remove an empty database. `KeyError` if there is none, `ValueError` if it has tables or views."""
        database = self.namespace(name)
        if database is None:
            raise KeyError(name)
        if names := database.names():
            raise ValueError(
                f"the database {fold(name)} is not empty: drop its tables and views first: {', '.join(names)}"
            )
        self.call("delete_database", Name=fold(name))

    def entry(self, database: str, name: str) -> HiveEntry:
        """Return a table; raises as `call` does."""
        return _entry(self.call("get_table", DatabaseName=database, Name=name)["Table"])

    def entries(self, database: str) -> list[HiveEntry]:
        """Return all tables and views of a database; raises as `call` does."""
        return [_entry(each) for each in self.listed("get_tables", "TableList", DatabaseName=database)]

    def register(self, database: str, entry: HiveEntry) -> None:
        """Add a table; raises as `call` does."""
        table: dict[str, Any] = {
            "Name": entry.name,
            "TableType": entry.table_type,
            "Parameters": entry.parameters,
            "StorageDescriptor": {
                "Columns": [],
                "Location": entry.location,
                "InputFormat": INPUT_FORMAT,
                "OutputFormat": OUTPUT_FORMAT,
                "SerdeInfo": {"SerializationLibrary": SERDE, "Parameters": entry.serde_parameters},
            },
        }
        self.call("create_table", DatabaseName=database, TableInput=table)

    def forget(self, database: str, name: str) -> None:
        """Remove a table, whose files stay; raises as `call` does."""
        self.call("delete_table", DatabaseName=database, Name=name)

    def call(self, method: str, **request: Any) -> dict[str, Any]:
        """Return Glue's answer.

        Raises `KeyError` if the object does not exist, `FileExistsError` if it exists already, `ValueError`
        for an invalid request, and `StorageError` if Glue cannot be reached or refuses.
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


def _entry(table: Mapping[str, Any]) -> HiveEntry:
    storage = table.get("StorageDescriptor") or {}
    serde = storage.get("SerdeInfo") or {}
    return HiveEntry(
        table["Name"],
        table.get("TableType"),
        table.get("Parameters") or {},
        storage.get("Location"),
        serde.get("Parameters") or {},
    )


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Convert errors of boto3 to catalog errors."""
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
