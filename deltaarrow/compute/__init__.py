"""Private DuckDB databases for the engine's computations, and quoting of SQL text for them."""

from deltaarrow.compute.database import memory_bytes, set_memory_limit
from deltaarrow.compute.files_database import files_cursor, prepare_files
from deltaarrow.compute.filesystem import filesystem_for_duckdb
from deltaarrow.compute.quoting import quote_file, quote_identifier, quote_literal
from deltaarrow.compute.sandbox import (
    expression_limits,
    limited_cursor,
    sandbox_cursor,
    set_expression_limits,
)

__all__ = [
    "expression_limits",
    "files_cursor",
    "filesystem_for_duckdb",
    "limited_cursor",
    "memory_bytes",
    "prepare_files",
    "quote_file",
    "quote_identifier",
    "quote_literal",
    "sandbox_cursor",
    "set_expression_limits",
    "set_memory_limit",
]
