"""Hive's metastore as a catalog of names: its databases are namespaces."""

import contextlib
import functools
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deltaarrow.catalogs.hive_entries import INPUT_FORMAT, OUTPUT_FORMAT, SERDE, HiveDatabase, HiveEntry
from deltaarrow.catalogs.namespace import fold
from deltaarrow.catalogs.web_requests import AnswerLimits, has_port
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError, UnsupportedFeatureError
from deltaarrow.runtime.optional import require

__all__ = ["BoundedSocket", "HiveCatalog"]

_SCHEME, _PORT = "thrift", 9083
_NAMES_PER_REQUEST = 500


class HiveCatalog:
    """The databases and Delta tables of a metastore of Hive 2.3 or later, by Thrift.

    Args:
        uris: the address of the metastore, as in Spark's ``hive.metastore.uris``: ``thrift://host:9083``, or
            several addresses separated by commas, which are tried in turn.
        timeout: seconds to wait for an answer; one that has begun has ten times as long, and a second more
            for each 64 KiB.
        storage_options: options of the stores of tables; see `DeltaTable`. Pickles contain them.

    Needs the extra ``hive``. The constructor makes no request, and each request has a connection of its own.
    Names are kept in lower case, as Hive does. The constructor raises `ValueError` for a malformed address;
    the methods raise `StorageError` if the metastore cannot be reached or refuses, and
    `MissingDependencyError` without thriftpy2. Metastores that require Kerberos or TLS are not supported.

    >>> HiveCatalog("thrift://metastore.example:9083")
    HiveCatalog('thrift://metastore.example:9083')
    """

    title = "the metastore"

    def __init__(
        self,
        uris: str,
        *,
        timeout: float = 30.0,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._uris, self._timeout = uris, timeout
        self._addresses = [_address(uri.strip()) for uri in uris.split(",")]
        self.storage_options = dict(storage_options or {})

    def __repr__(self) -> str:
        return f"HiveCatalog({self._uris!r})"

    def namespaces(self) -> list[str]:
        """Return the names of all databases, in order."""
        with self._client() as client:
            return sorted(client.get_all_databases())

    def namespace(self, name: str) -> HiveDatabase | None:
        """Return a database; None if there is none of that name."""
        try:
            with self._client() as client:
                found = client.get_database(fold(name))
        except KeyError:
            return None
        return HiveDatabase(self, found.name, found.locationUri)

    def create_namespace(self, name: str) -> None:
        """Create a database. `FileExistsError` if there is one, `ValueError` for what cannot be a name."""
        with self._client() as client:
            client.create_database(_interface().Database(name=fold(name), parameters={}))

    def drop_namespace(self, name: str) -> None:
        """Remove an empty database. `KeyError` if there is none, `ValueError` if it has tables or views."""
        with self._client() as client:
            client.get_database(fold(name))  # Hive 2.3 fails otherwise if a database to drop is not there
            # Without `cascade` the metastore refuses one that has tables.
            client.drop_database(fold(name), False, False)

    def entry(self, database: str, name: str) -> HiveEntry:
        """Return a table. `KeyError` if there is none of that name."""
        request = _interface().GetTableRequest(dbName=database, tblName=name)
        with self._client() as client:
            return _entry(client.get_table_req(request).table)

    def entries(self, database: str) -> list[HiveEntry]:
        """Return all tables and views of a database."""
        found: list[HiveEntry] = []
        with self._client() as client:
            names = client.get_all_tables(database)
            for start in range(0, len(names), _NAMES_PER_REQUEST):
                few = names[start : start + _NAMES_PER_REQUEST]
                request = _interface().GetTablesRequest(dbName=database, tblNames=few)
                found += map(_entry, client.get_table_objects_by_name_req(request).tables)
        return found

    def register(self, database: str, entry: HiveEntry) -> None:
        """Add a table. `FileExistsError` if there is one of its name."""
        kinds = _interface()
        storage = kinds.StorageDescriptor(
            cols=[],
            location=entry.location,
            inputFormat=INPUT_FORMAT,
            outputFormat=OUTPUT_FORMAT,
            compressed=False,
            numBuckets=-1,
            serdeInfo=kinds.SerDeInfo(serializationLib=SERDE, parameters=dict(entry.serde_parameters)),
            bucketCols=[],
            parameters={},
        )
        table = kinds.Table(
            tableName=entry.name,
            dbName=database,
            sd=storage,
            partitionKeys=[],
            parameters=dict(entry.parameters),
            tableType=entry.table_type,
        )
        with self._client() as client:
            client.create_table(table)

    def forget(self, database: str, name: str) -> None:
        """Remove a table, whose files stay. `KeyError` if there is none of that name."""
        with self._client() as client:
            client.drop_table(database, name, False)

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        """A connection; errors in the block are converted to catalog errors."""
        with _answering(self._uris):
            client = self._connected()
            try:
                yield client
            finally:
                client.close()

    def _connected(self) -> Any:
        """A connection to the first metastore that can be reached."""
        interface, thrift = _interface(), require("thriftpy2.thrift")
        protocols, transports = require("thriftpy2.protocol"), require("thriftpy2.transport")
        for place, (host, port) in enumerate(self._addresses, start=1):
            plain = transports.TSocket(host, port, socket_timeout=round(self._timeout * 1000))
            bounded = BoundedSocket(plain, AnswerLimits(host, self._timeout))
            transport = transports.TBufferedTransportFactory().get_transport(bounded)
            protocol = protocols.TBinaryProtocolFactory().get_protocol(transport)
            try:
                transport.open()
                return thrift.TClient(interface.ThriftHiveMetastore, protocol)
            except (transports.TTransportException, OSError):
                if place == len(self._addresses):
                    raise
        raise AssertionError("an address is always there")


class BoundedSocket:
    """A socket of thriftpy2 whose answers have limits of size and time."""

    def __init__(self, socket: Any, limits: AnswerLimits) -> None:
        self._socket, self._limits = socket, limits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def read(self, size: int) -> bytes:
        """Return some of the bytes that come; raises as `AnswerLimits` does."""
        self._limits.ensure_in_time()
        found: bytes = self._socket.read(size)
        self._limits.count(len(found))
        return found


def _entry(table: Any) -> HiveEntry:
    storage = table.sd
    serde = storage and storage.serdeInfo
    return HiveEntry(
        table.tableName,
        table.tableType,
        table.parameters or {},
        storage and storage.location,
        (serde and serde.parameters) or {},
    )


@functools.cache
def _interface() -> Any:
    """The types and methods of the metastore."""
    source = Path(__file__).with_name("hive_metastore.thrift")
    return require("thriftpy2").load(str(source), module_name="deltaarrow_hive_thrift")


def _address(uri: str) -> tuple[str, int]:
    """The host and port of ``thrift://host:9083``.

    >>> _address("thrift://metastore.example")
    ('metastore.example', 9083)
    """
    parts = urllib.parse.urlsplit(uri)
    is_own = parts.scheme == _SCHEME and not parts.username and not parts.path.strip("/") and has_port(parts)
    if not parts.hostname or not is_own:
        raise ValueError(f"{redacted(uri)!r} is not the address of a metastore: write thrift://host:{_PORT}")
    return parts.hostname, parts.port or _PORT


@contextlib.contextmanager
def _answering(uris: str) -> Iterator[None]:
    """Convert errors of the metastore and of the connection to catalog errors."""
    kinds = _interface()
    from thriftpy2.protocol.exc import TProtocolException
    from thriftpy2.thrift import TApplicationException
    from thriftpy2.transport import TTransportException

    try:
        yield
    except (kinds.NoSuchObjectException, kinds.UnknownDBException) as error:
        raise KeyError(error.message) from error
    except kinds.AlreadyExistsException as error:
        raise FileExistsError(error.message) from error
    except (kinds.InvalidObjectException, kinds.InvalidOperationException) as error:
        raise ValueError(error.message) from error
    except kinds.MetaException as error:
        raise StorageError(f"the metastore refuses: {redacted(str(error.message))}") from error
    except TApplicationException as error:
        raise UnsupportedFeatureError(
            f"the metastore does not know a request; use Hive 2.3 or later: {redacted(str(error))}",
            feature="Hive metastore",
        ) from error
    except (TTransportException, TProtocolException, OSError) as error:
        said = redacted(str(getattr(error, "message", None) or error)).rstrip(".")
        raise StorageError(
            f"cannot reach the metastore at {uris}: {said}; check the address and the network, and that the"
            " server requires neither Kerberos nor TLS"
        ) from error
