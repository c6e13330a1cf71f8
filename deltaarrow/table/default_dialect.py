"""The default SQL dialect of tables and calls."""

import deltaarrow.spark_sql as spark_sql

__all__ = ["default_dialect", "set_default_dialect"]

_default = "spark"


def set_default_dialect(dialect: str = "spark") -> None:
    """Choose the SQL of expressions for each `DeltaTable` and call of `write_deltalake` without a `dialect`.

    A script that was written for ``deltalake`` says it once, before it opens tables. The choice holds for
    the process. Tables that are open keep their dialect, and take it with them into other processes. SQL of
    `deltaarrow.connect` and of the shell is not affected.

    Args:
        dialect: ``spark``, or ``deltalake``, in which ``"x"`` is a column; see `DeltaTable`.

    Raises:
        ValueError: there is no such dialect.

    >>> import deltaarrow, tempfile, pyarrow as pa
    >>> folder = tempfile.mkdtemp()
    >>> _ = deltaarrow.write_deltalake(folder, pa.table({"Unit Price": [1, 2]}))
    >>> set_default_dialect("deltalake")
    >>> deltaarrow.DeltaTable(folder).to_pyarrow_table(filters='"Unit Price" > 1').num_rows
    1
    >>> set_default_dialect()
    """
    global _default
    _default = spark_sql.ensure_dialect(dialect)


def default_dialect() -> str:
    """The dialect where none is given."""
    return _default
