"""SQL over Delta tables, in Spark's and in DuckDB's dialect: queries, and statements that change tables.

`connect` opens a connection. Each family of statements has a folder: `rows`, `alter`, `define`, `describe`,
`maintain`, `copy` and `settings`. In it, the grammar of each dialect (`spark`, `duckdb`) reads a statement
into one dataclass (`statements`), and its handler (`handlers`) calls the method of `DeltaTable` that a Python
user would call. `registry` lists the kinds of statements of all families.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.sql.connection import connect as connect

__getattr__ = lazy_package(__name__)
