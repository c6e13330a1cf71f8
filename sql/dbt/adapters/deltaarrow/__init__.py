"""The dbt adapter ``deltaarrow``: dbt-duckdb whose tables are Delta tables in the folder of a catalog.

Everything that dbt-duckdb can do stays: its SQL, settings, extensions, secrets, attached databases and
plugins. What differs is the connection, which is `deltaarrow.connect()`, and so the meaning of names: a
relation of the project is ``spark_catalog.schema.name``, a Delta table or a view of the catalog. The macros
in ``dbt/include/deltaarrow`` send statements of deltaarrow's SQL, each of which makes one version.
"""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.deltaarrow.adapter import DeltaarrowAdapter
from dbt.adapters.deltaarrow.connections import DeltaarrowConnectionManager
from dbt.adapters.deltaarrow.credentials import DeltaarrowCredentials
from dbt.include import deltaarrow

__all__ = ["DeltaarrowAdapter", "DeltaarrowConnectionManager", "DeltaarrowCredentials", "Plugin"]

Plugin = AdapterPlugin(
    adapter=DeltaarrowAdapter,
    credentials=DeltaarrowCredentials,
    include_path=deltaarrow.PACKAGE_PATH,
    dependencies=["duckdb"],
)
