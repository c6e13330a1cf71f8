"""Names of tables in a Spark session: looked up in a file catalog, then in Spark's own catalog.

A new table gets its name in the file catalog, because Spark's catalog names no table that it cannot read
itself. A name that Spark's catalog knows, such as one that delta-spark has registered, is found if Spark says
where the table is; it is never changed.
"""

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from deltaarrow.catalogs import FileCatalog, FileNamespace, Namespace, NewFolder, TableLocation, View, fold
from deltaarrow.sql.rows.spark import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CATALOG", "SparkNames"]

CATALOG = "spark.deltaarrow.catalog"
"""The setting of a session that names the folder of the file catalog."""

_WAREHOUSE = "spark.sql.warehouse.dir"
_PROVIDERS = ("delta",)


class SparkNames:
    """The catalog of a Spark session, for statements.

    The file catalog is in the folder that the setting ``spark.deltaarrow.catalog`` names, or else in the
    session's warehouse.
    """

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._files = FileCatalog(str(spark.conf.get(CATALOG, None) or spark.conf.get(_WAREHOUSE)))

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, in order."""
        databases = (fold(each.name) for each in self._spark.catalog.listDatabases())
        return sorted({*self._files.namespaces(), *databases})

    def namespace(self, name: str) -> "Namespace | None":
        """Return a namespace; None if neither catalog has one of that name."""
        if self._files.namespace(name) is None and not self._spark.catalog.databaseExists(name):
            return None
        return _SparkNamespace(self._spark, self._files, name)

    def create_namespace(self, name: str) -> None:
        """Create a namespace of the file catalog. `FileExistsError` if there is one."""
        self._files.create_namespace(name)

    def drop_namespace(self, name: str) -> None:
        """Remove an empty namespace of the file catalog. `KeyError` if there is none."""
        self._files.drop_namespace(name)


class _SparkNamespace:
    def __init__(self, spark: "SparkSession", files: FileCatalog, name: str) -> None:
        self._spark, self._catalog, self._name = spark, files, name

    @property
    def _files(self) -> FileNamespace:
        """The namespace of the file catalog, which is made if only Spark has one."""
        found = self._catalog.namespace(self._name)
        if found is None:
            self._catalog.create_namespace(self._name)
            found = self._catalog.namespace(self._name)
        assert found is not None
        return found

    def find(self, name: str) -> TableLocation | None:
        known = self._catalog.namespace(self._name)
        found = None if known is None else known.find(name)
        return self._find_in_spark(name) if found is None else found

    def _find_in_spark(self, name: str) -> TableLocation | None:
        full = f"{quoted(self._name)}.{quoted(name)}"
        try:
            if not self._spark.catalog.tableExists(full):
                return None
            rows = self._spark.sql(f"DESCRIBE TABLE EXTENDED {full}").collect()
        except PySparkException:
            return None  # Spark cannot tell what the name means without its provider.
        names = [row.col_name for row in rows]
        if "# Detailed Table Information" not in names:
            return None
        # Columns of these names come before.
        told = {row.col_name: row.data_type for row in rows[names.index("# Detailed Table Information") :]}
        if str(told.get("Provider")).lower() not in _PROVIDERS or not told.get("Location"):
            return None
        return TableLocation(told["Location"])

    def place_for(self, name: str) -> TableLocation:
        return self._files.place_for(name)

    def tables(self) -> list[str]:
        return self._files.tables()

    def add(self, name: str, location: TableLocation) -> None:
        self._files.add(name, location)

    def remove(self, name: str, location: TableLocation | None = None) -> None:
        self._files.remove(name, location)

    def claim(self, name: str) -> NewFolder:
        return self._files.claim(name)

    def dropped(self, name: str) -> TableLocation | None:
        return self._files.dropped(name)

    def move(self, name: str, to: "_SparkNamespace", new_name: str) -> None:
        self._files.move(name, to._files, new_name)

    def view(self, name: str) -> View | None:
        known = self._catalog.namespace(self._name)
        return None if known is None else known.view(name)

    def views(self) -> list[str]:
        return self._files.views()

    def add_view(self, view: View, *, may_replace: bool = False) -> None:
        self._files.add_view(view, may_replace=may_replace)

    def remove_view(self, name: str) -> None:
        self._files.remove_view(name)
