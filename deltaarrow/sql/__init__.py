"""SQL over Delta tables, in Spark's and in DuckDB's dialect: queries, and statements that change tables.

`connect` opens a connection. A statement is read by the grammar of its dialect (`spark_grammar`,
`duckdb_grammar`) into one dataclass (`statements`), which is the same for both dialects. `registry` leads
from the dataclass to its one handler (`handlers`), which calls the method of `DeltaTable` that a Python user
would call.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.sql.connection import connect as connect

__getattr__ = lazy_package(__name__)
