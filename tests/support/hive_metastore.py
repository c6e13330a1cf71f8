"""Metastores of Hive for tests: a stub that speaks Thrift, and the real one among the classes of PySpark."""

import contextlib
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thriftpy2.rpc import make_server

from deltaarrow.catalogs.hive import _interface

__all__ = ["real_metastore", "stub_metastore"]

_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.async.log.enabled": "false",
    "datanucleus.connectionPoolingType": "none",
}
_SECONDS = 120


class _Metastore:
    """The methods of Hive's metastore, with the errors that Hive 2.3 raises."""

    def __init__(self, warehouse: Path) -> None:
        self._warehouse = warehouse
        self._kinds = _interface()
        self._databases: dict[str, Any] = {}
        self._tables: dict[tuple[str, str], Any] = {}
        self._add("default", f"file:{warehouse}")

    def _add(self, name: str, place: str) -> None:
        self._databases[name] = self._kinds.Database(name=name, locationUri=place, parameters={})

    def get_all_databases(self) -> list[str]:
        return list(self._databases)

    def get_database(self, name: str) -> Any:
        if name not in self._databases:
            raise self._kinds.NoSuchObjectException(message=f"database {name}")
        return self._databases[name]

    def create_database(self, database: Any) -> None:
        if database.name in self._databases:
            raise self._kinds.AlreadyExistsException(message=f"database {database.name}")
        if not database.name.replace("_", "").isalnum():
            raise self._kinds.InvalidObjectException(message=f"{database.name} is not a valid database name")
        self._add(database.name, database.locationUri or f"file:{self._warehouse}/{database.name}.db")

    def drop_database(self, name: str, deleteData: bool, cascade: bool) -> None:
        self.get_database(name)
        if not cascade and self.get_all_tables(name):
            raise self._kinds.InvalidOperationException(message=f"Database {name} is not empty")
        del self._databases[name]

    def get_all_tables(self, db_name: str) -> list[str]:
        return [name for database, name in self._tables if database == db_name]

    def get_table_req(self, req: Any) -> Any:
        if (req.dbName, req.tblName) not in self._tables:
            raise self._kinds.NoSuchObjectException(message=f"{req.dbName}.{req.tblName} table not found")
        return self._kinds.GetTableResult(table=self._tables[req.dbName, req.tblName])

    def get_table_objects_by_name_req(self, req: Any) -> Any:
        found = [self._tables[req.dbName, name] for name in req.tblNames]
        return self._kinds.GetTablesResult(tables=found)

    def create_table(self, tbl: Any) -> None:
        if tbl.dbName not in self._databases:
            raise self._kinds.InvalidObjectException(message=f"database {tbl.dbName}")
        if (tbl.dbName, tbl.tableName) in self._tables:
            raise self._kinds.AlreadyExistsException(message=f"Table {tbl.tableName} already exists")
        self._tables[tbl.dbName, tbl.tableName] = tbl

    def drop_table(self, dbname: str, name: str, deleteData: bool) -> None:
        assert not deleteData, "the files of a table are not the metastore's"
        if self._tables.pop((dbname, name), None) is None:
            raise self._kinds.NoSuchObjectException(message=f"{dbname}.{name} table not found")


@contextlib.contextmanager
def stub_metastore(folder: Path) -> Iterator[str]:
    """Run a stub in this process; gives its address."""
    port = _free_port()
    server = make_server(
        _interface().ThriftHiveMetastore, _Metastore(folder / "warehouse"), "127.0.0.1", port
    )
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    _wait_for(port, lambda: "")
    try:
        yield f"thrift://127.0.0.1:{port}"
    finally:
        server.close()
        socket.create_connection(("127.0.0.1", port)).close()  # it looks after a connection whether to end
        thread.join()
        server.trans.close()


@contextlib.contextmanager
def real_metastore(folder: Path) -> Iterator[str]:
    """Run Hive 2.3's metastore with its data in memory; gives its address.

    By hand: a hive-site.xml with the settings above in a folder, and ``java -cp FOLDER:JARS/* CLASS -p PORT``
    with the jars of PySpark.
    """
    import pyspark

    java = shutil.which("java")
    assert java, "the metastore needs a Java runtime"
    settings = _SETTINGS | {"hive.metastore.warehouse.dir": str(folder / "warehouse")}
    named = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{named}</configuration>")
    port, log = _free_port(), folder / "metastore.log"
    opened = [f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in ("lang", "net", "nio", "util")]
    jars = f"{folder}:{Path(pyspark.__path__[0])}/jars/*"
    command = [java, *opened, "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", jars]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)],
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
    try:
        _wait_for(port, lambda: log.read_text(errors="replace")[-3000:])
        yield f"thrift://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int, tell: Any) -> None:
    end = time.monotonic() + _SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < end, tell()
            time.sleep(0.05)
