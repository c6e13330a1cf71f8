"""Spark's maintenance statements, which DuckDB's dialect takes too, except for VACUUM.

ANALYZE and FSCK REPAIR are extensions: Spark's open source refuses them for Delta tables.
"""

from deltaarrow.schema import Field, PrimitiveType
from deltaarrow.spark_sql import TableName, Words, parse_type, spark_type_name
from deltaarrow.sql.maintain.statements import (
    Analyze,
    Convert,
    Generate,
    Optimize,
    Reorg,
    Repair,
    Restore,
    Vacuum,
)

__all__ = [
    "parse_analyze",
    "parse_convert",
    "parse_generate",
    "parse_optimize",
    "parse_reorg",
    "parse_repair",
    "parse_restore",
    "parse_vacuum",
]

_SOURCES = ("parquet", "iceberg")
_NEVER_IN_PARTITIONS = ("variant", "void")
_VACUUM_CLAUSES = ("FULL", "LITE", "RETAIN", "DRY", "USING")


def parse_optimize(words: Words) -> Optimize:
    """Read an OPTIMIZE.

    >>> parse_optimize(Words("OPTIMIZE lake.t WHERE day = '2026-01-01' ZORDER BY (id, s.x)")).z_order
    ('id', 's.x')
    """
    words.expect("OPTIMIZE")
    table = words.table_name_or_path()
    if words.take("FULL"):
        _expect_end(words, "FULL is for clustered tables, which take neither WHERE nor ZORDER BY; the end")
        return Optimize(table, is_full=True)
    condition = _condition(words, "ZORDER BY")
    columns = tuple(_z_order(words)) if words.take("ZORDER", "BY") else ()
    _expect_end(words, "ZORDER BY or the end" if not columns else "the end")
    return Optimize(table, condition=condition, z_order=columns)


def parse_reorg(words: Words) -> Reorg:
    """Read a REORG TABLE.

    >>> parse_reorg(Words("REORG TABLE lake.t WHERE day > '2026-01-01' APPLY (PURGE)")).condition
    "day > '2026-01-01'"
    """
    words.expect("REORG")
    words.expect("TABLE")
    table = words.table_name()
    condition = _condition(words, "APPLY (")
    words.expect("APPLY")
    words.expect("(")
    # As in Spark, an upgrade is of the whole table.
    version = _upgrade(words) if condition is None and words.take("UPGRADE", "UNIFORM") else None
    if version is None:
        words.expect("PURGE")
    words.expect(")")
    words.expect_end()
    return Reorg(table, condition, version)


def _upgrade(words: Words) -> int:
    words.expect("(")
    words.expect("ICEBERG_COMPAT_VERSION")
    if not words.take("=="):
        words.expect("=")
    version = words.whole_number("ICEBERG_COMPAT_VERSION")
    words.expect(")")
    return version


def parse_vacuum(words: Words) -> Vacuum:
    """Read a VACUUM, whose clauses come in any order.

    >>> parse_vacuum(Words("VACUUM lake.t RETAIN 200 HOURS LITE DRY RUN")).retain_hours
    200.0
    """
    words.expect("VACUUM")
    table = words.table_name_or_path()
    is_lite, hours, is_dry_run, inventory = None, None, False, None
    while not (words.is_done or words.is_at(";")):
        if is_lite is None and words.take("FULL"):
            is_lite = False
        elif is_lite is None and inventory is None and words.take("LITE"):
            is_lite = True
        elif hours is None and words.take("RETAIN"):
            hours = words.number("a number of hours, 0 or more,")
            words.expect("HOURS")
        elif not is_dry_run and words.take("DRY", "RUN"):
            is_dry_run = True
        elif inventory is None and not is_lite and words.take("USING", "INVENTORY"):
            inventory = _inventory(words)
        else:
            raise words.refused(
                "FULL, LITE, RETAIN n HOURS, DRY RUN or USING INVENTORY, which is not for LITE, each once,"
                " is expected",
                "DUPLICATE_CLAUSES" if any(map(words.is_at, _VACUUM_CLAUSES)) else "PARSE_SYNTAX_ERROR",
            )
    words.expect_end()
    return Vacuum(table, bool(is_lite), hours, is_dry_run, inventory)


def _inventory(words: Words) -> TableName | str:
    if not words.is_at("("):
        return words.table_name()
    query = words.bracketed("a query")
    if not query:
        raise words.refused("a query of an inventory is expected in the brackets")
    return query


def parse_restore(words: Words) -> Restore:
    """Read a RESTORE.

    >>> parse_restore(Words("RESTORE TABLE lake.t TO VERSION AS OF 3")).target
    3
    """
    words.expect("RESTORE")
    words.take("TABLE")
    table = words.table_name()
    words.take("TO")
    words.take("FOR")
    if words.take("VERSION") or words.take("SYSTEM_VERSION"):
        words.expect("AS", "OF")
        version = words.whole_number("a version")
        words.expect_end()
        return Restore(table, version)
    if words.take("TIMESTAMP") or words.take("SYSTEM_TIME"):
        words.expect("AS", "OF")
        moment = words.string("a timestamp")
        words.expect_end()
        return Restore(table, moment)
    raise words.refused("TO VERSION AS OF or TO TIMESTAMP AS OF is expected")


def parse_convert(words: Words) -> Convert:
    """Read a CONVERT TO DELTA.

    >>> parse_convert(Words("CONVERT TO DELTA parquet.`/data/t` PARTITIONED BY (day DATE)")).path
    '/data/t'
    """
    words.expect("CONVERT")
    words.expect("TO")
    words.expect("DELTA")
    start = words.here()
    name = words.table_name_or_path()
    source = name.parts[0].lower()
    if len(name.parts) != 2 or source not in _SOURCES:
        words.back_to(start)
        raise words.refused("the folder of the files, as parquet.`/data/t` or iceberg.`/data/t`, is expected")
    has_statistics = not words.take("NO", "STATISTICS")
    fields = tuple(_partition_columns(words)) if words.take("PARTITIONED BY") else ()
    words.expect_end()
    return Convert(source, name.parts[1], has_statistics, fields)


def _partition_columns(words: Words) -> list[Field]:
    words.expect("(")
    fields = [_partition_column(words)]
    while words.take(","):
        fields.append(_partition_column(words))
    words.expect(")")
    return fields


def _partition_column(words: Words) -> Field:
    name = words.identifier("the name of a column")
    start = words.here()
    data_type, text = parse_type(words, "spark")
    is_plain = isinstance(data_type, PrimitiveType) and text == spark_type_name(data_type)
    if not is_plain or text in _NEVER_IN_PARTITIONS:
        words.back_to(start)
        raise words.refused(f"a type that partition columns may have is expected, which {text} is not")
    is_nullable = not words.take("NOT", "NULL")
    if words.take("COMMENT"):
        words.string("a comment")  # Spark drops it too.
    return Field(name, data_type, is_nullable)


def parse_generate(words: Words) -> Generate:
    """Read a GENERATE.

    >>> parse_generate(Words("GENERATE symlink_format_manifest FOR TABLE lake.orders")).mode
    'symlink_format_manifest'
    """
    words.expect("GENERATE")
    mode = words.name("the kind of files to generate")
    words.expect("FOR")
    words.expect("TABLE")
    table = words.table_name()
    words.expect_end()
    return Generate(table, mode)


def parse_repair(words: Words) -> Repair:
    """Read a FSCK REPAIR TABLE.

    >>> parse_repair(Words("FSCK REPAIR TABLE lake.orders DRY RUN")).is_dry_run
    True
    """
    words.expect("FSCK")
    words.expect("REPAIR")
    words.expect("TABLE")
    table = words.table_name()
    is_dry_run = words.take("DRY", "RUN")
    _expect_end(words, "DRY RUN or the end")
    return Repair(table, is_dry_run)


def parse_analyze(words: Words) -> Analyze:
    """Read an ANALYZE TABLE.

    >>> parse_analyze(Words("ANALYZE TABLE lake.t COMPUTE STATISTICS FOR COLUMNS id, s.x")).columns
    ('id', 's.x')
    """
    words.expect("ANALYZE")
    words.expect("TABLE")
    table = words.table_name()
    words.expect("COMPUTE")
    is_full = words.take("DELTA")
    words.expect("STATISTICS")
    columns = None
    if not is_full and words.take("FOR") and not words.take("ALL", "COLUMNS"):
        words.expect("COLUMNS")
        columns = tuple(_columns(words))
    _expect_end(words, "FOR COLUMNS or the end")
    return Analyze(table, columns, is_full)


def _condition(words: Words, end: str) -> str | None:
    if not words.take("WHERE"):
        return None
    text = words.until(end, ";")
    if not text:
        raise words.refused("a condition is expected")
    return text


def _z_order(words: Words) -> list[str]:
    is_bracketed = words.take("(")
    columns = _columns(words)
    if is_bracketed:
        words.expect(")")
    return columns


def _columns(words: Words) -> list[str]:
    columns = [words.column()]
    while words.take(","):
        columns.append(words.column())
    return columns


def _expect_end(words: Words, what: str) -> None:
    words.take(";")
    if not words.is_done:
        raise words.refused(f"{what} is expected")
