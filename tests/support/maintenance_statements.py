"""Statements of maintenance with what they are taken apart into, and texts that are no such statements."""

from deltaarrow.schema import Field
from deltaarrow.spark_sql import TableName
from deltaarrow.sql.maintain.statements import Convert, Generate, Optimize, Reorg, Restore, Vacuum

__all__ = ["EXTENSIONS_REFUSED", "PARSED", "REFUSED", "STRICTER"]


def at(path):
    return TableName(("delta", path))


NAMED = TableName(("lake", "t"))

OPTIMIZE = {
    "OPTIMIZE delta.`/t`": Optimize(at("/t")),
    "optimize DELTA . `/a b/é``f` full": Optimize(TableName(("DELTA", "/a b/é`f")), is_full=True),
    "OPTIMIZE delta.`/t` WHERE p = 'ZORDER BY (id)'": Optimize(at("/t"), False, "p = 'ZORDER BY (id)'", ()),
    "OPTIMIZE delta.`/t` WHERE zorder = 1 /* ; */ AND (q) ZORDER BY a": Optimize(
        at("/t"), False, "zorder = 1 /* ; */ AND (q)", ("a",)
    ),
    "OPTIMIZE delta.`/t` ZORDER BY (`a b`.c, `d``.e`, date, s . key)": Optimize(
        at("/t"), False, None, ("`a b`.c", "`d``.e`", "date", "s.key")
    ),
    "OPTIMIZE delta.`/t` ZORDER BY id, s.x": Optimize(at("/t"), False, None, ("id", "s.x")),
}
OPTIMIZE |= {
    "OPTIMIZE lake.t WHERE p = 1;": Optimize(NAMED, condition="p = 1"),
    "OPTIMIZE '/t'": Optimize(at("/t")),
    "OPTIMIZE table": Optimize(TableName(("table",))),
}
REORG = {
    "REORG TABLE lake.t APPLY (PURGE)": Reorg(NAMED),
    "REORG TABLE delta.`/t` APPLY (PURGE)": Reorg(at("/t"), None),
    "reorg table delta.`/t` where apply = 'APPLY (PURGE)' apply ( purge )": Reorg(
        at("/t"), "apply = 'APPLY (PURGE)'"
    ),
    "REORG TABLE delta.`/t` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))": Reorg(at("/t"), None, 2),
    "reorg table delta.`/t` apply (upgrade uniform (iceberg_compat_version == 3))": Reorg(at("/t"), None, 3),
}
VACUUM = {
    "VACUUM delta.`/t`": Vacuum(at("/t"), False, None, False),
    "vacuum delta.`/t` full": Vacuum(at("/t"), False, None, False),
    "VACUUM delta.`/t` LITE DRY RUN": Vacuum(at("/t"), True, None, True),
    "VACUUM delta.`/t` DRY RUN RETAIN 1.5 HOURS LITE": Vacuum(at("/t"), True, 1.5, True),
    "VACUUM delta.`/t` RETAIN 1e2 HOURS FULL": Vacuum(at("/t"), False, 100.0, False),
    "VACUUM delta.`/t` RETAIN 0 HOURS": Vacuum(at("/t"), False, 0.0, False),
}
VACUUM |= {
    "VACUUM lake.t": Vacuum(NAMED),
    "VACUUM '/t'": Vacuum(at("/t")),
    "VACUUM a.b.c USING INVENTORY lake.t": Vacuum(TableName(("a", "b", "c")), inventory=NAMED),
    "VACUUM t USING INVENTORY (SELECT ')' FROM i) DRY RUN RETAIN 3 HOURS": Vacuum(
        TableName(("t",)), False, 3.0, True, "SELECT ')' FROM i"
    ),
}
RESTORE = {
    "RESTORE TABLE lake.t TO VERSION AS OF 3": Restore(NAMED, 3),
    "restore lake.t version as of 0": Restore(NAMED, 0),
    "RESTORE TABLE delta.`/t` TO TIMESTAMP AS OF '2026-01-01 00:00:00';": Restore(
        at("/t"), "2026-01-01 00:00:00"
    ),
    "RESTORE t FOR SYSTEM_VERSION AS OF 1": Restore(TableName(("t",)), 1),
    "RESTORE t TO SYSTEM_TIME AS OF '2026-01-01'": Restore(TableName(("t",)), "2026-01-01"),
    "RESTORE TABLE TO VERSION AS OF 1": Restore(TableName(("TO",)), 1),
    "RESTORE restore VERSION AS OF 1": Restore(TableName(("restore",)), 1),
}
CONVERT = {
    "CONVERT TO DELTA parquet.`/t`": Convert("parquet", "/t"),
    "convert to delta PARQUET.`/t` no statistics": Convert("parquet", "/t", False),
    "CONVERT TO DELTA iceberg.`/t`;": Convert("iceberg", "/t"),
    "CONVERT TO DELTA parquet.`/t` NO STATISTICS"
    " PARTITIONED BY (a INT NOT NULL COMMENT 'x', `b c` decimal( 10,2))": (
        Convert(
            "parquet",
            "/t",
            False,
            (Field("a", "integer", False), Field("b c", "decimal(10,2)")),
        )
    ),
    "CONVERT TO DELTA parquet.`/t` PARTITIONED   BY (date DATE, d DECIMAL, n DECIMAL (4))": Convert(
        "parquet",
        "/t",
        partition_by=(Field("date", "date"), Field("d", "decimal(10,0)"), Field("n", "decimal(4,0)")),
    ),
}
GENERATE = {
    "GENERATE symlink_format_manifest FOR TABLE lake.t": Generate(NAMED, "symlink_format_manifest"),
    "GENERATE `x y` FOR TABLE delta.`/t`": Generate(at("/t"), "x y"),
}
PARSED = {
    "OptimizeTableCommand": OPTIMIZE,
    "DeltaReorgTable": REORG,
    "VacuumTableCommand": VACUUM,
    "RestoreTableStatement": RESTORE,
    "ConvertToDeltaCommand": CONVERT,
    "DeltaGenerateCommand": GENERATE,
}
"""The class of Spark's for a statement -> texts of it, and what they mean."""

T = "delta.`/t`"
REFUSED = {
    "OPTIMIZE": "the name of a table is expected, and there is the end",
    "OPTIMIZE ''": "the path of a table is expected",
    "OPTIMIZE a.b.c.d": "ZORDER BY or the end is expected",
    f"OPTIMIZE TABLE {T}": "ZORDER BY or the end is expected, and there is 'delta'",
    f"OPTIMIZE {T} WHERE": "a condition is expected, and there is the end",
    f"OPTIMIZE {T} WHERE ZORDER BY (id)": "a condition is expected, and there is 'ZORDER'",
    f"OPTIMIZE {T} FULL WHERE p = 1": "FULL is for clustered tables",
    f"OPTIMIZE {T} FULL ZORDER BY (id)": "FULL is for clustered tables",
    f"OPTIMIZE {T} ZORDER BY (id) WHERE p = 1": "the end is expected, and there is 'WHERE'",
    f"OPTIMIZE {T} ZORDER BY (id), id": "the end is expected, and there is ','",
    f"OPTIMIZE {T} ZORDER (id)": "ZORDER BY or the end is expected",
    f"OPTIMIZE {T} nonsense": "ZORDER BY or the end is expected, and there is 'nonsense'",
    **{
        f"OPTIMIZE {T} ZORDER BY {columns}": "the name of a column is expected"
        for columns in ("()", "", "(id,)", "((id))", "(1)", "('id')", '("id")', "(id.)", "(*)")
    },
    f"OPTIMIZE {T} ZORDER BY (id": r"\) is expected, and there is the end",
    f"OPTIMIZE {T} ZORDER BY (id + 1)": r"\) is expected, and there is '\+'",
    f"OPTIMIZE {T} WHERE p = '": "is not closed",
    f"REORG {T} APPLY (PURGE)": "TABLE is expected",
    f"REORG TABLE {T}": "APPLY is expected, and there is the end",
    f"REORG TABLE {T} APPLY PURGE": r"\( is expected",
    f"REORG TABLE {T} APPLY ()": r"PURGE is expected, and there is '\)'",
    f"REORG TABLE {T} WHERE APPLY (PURGE)": "a condition is expected, and there is 'APPLY'",
    f"REORG TABLE {T} APPLY (PURGE) WHERE p = 1": "the end is expected, and there is 'WHERE'",
    f"REORG TABLE {T} WHERE p = 1 APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))": "PURGE is expected",
    f"REORG TABLE {T} APPLY (UPGRADE)": "PURGE is expected, and there is 'UPGRADE'",
    f"REORG TABLE {T} APPLY (UPGRADE UNIFORM)": r"\( is expected",
    f"REORG TABLE {T} APPLY (UPGRADE UNIFORM (VERSION = 2))": "ICEBERG_COMPAT_VERSION is expected",
    f"REORG TABLE {T} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION 2))": "= is expected, and there is '2'",
    f"REORG TABLE {T} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2)": r"\) is expected",
    **{
        f"REORG TABLE {T} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = {version}))": "is a whole number"
        for version in ("'2'", "2.0", "", "two", "9" * 5000)
    },
    f"REORG TABLE {T} APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2L))": r"\) is expected",
    f"VACUUM TABLE {T}": "each once, is expected, and there is 'delta'",
    f"VACUUM {T}, {T}": "each once, is expected, and there is ','",
    f"VACUUM {T} FULL LITE": "each once,.* is expected, and there is 'LITE'",
    f"VACUUM {T} LITE LITE": "each once",
    f"VACUUM {T} DRY RUN DRY RUN": "each once, is expected, and there is 'DRY'",
    f"VACUUM {T} RETAIN 1 HOURS RETAIN 1 HOURS": "each once, is expected, and there is 'RETAIN'",
    f"VACUUM {T} DRY": "each once, is expected, and there is 'DRY'",
    f"VACUUM {T} RETAIN 1 HOUR": "HOURS is expected, and there is 'HOUR'",
    f"VACUUM {T} RETAIN 1": "HOURS is expected, and there is the end",
    **{
        f"VACUUM {T} RETAIN {hours} HOURS": "a number of hours, 0 or more, is expected"
        for hours in ("-1", "", "n", "'1'", "1e999", "9" * 400)
    },
    f"VACUUM {T} RETAIN 168L HOURS": "HOURS is expected",
    f"VACUUM {T} USING INVENTORY i LITE": "USING INVENTORY, which is not for LITE, .* there is 'LITE'",
    f"VACUUM {T} LITE USING INVENTORY i": "which is not for LITE, .* there is 'USING'",
    f"VACUUM {T} USING INVENTORY ()": "a query of an inventory is expected",
    f"VACUUM {T} USING INVENTORY (SELECT 1": r"\) is expected, and there is the end",
    f"RESTORE {T}": "TO VERSION AS OF or TO TIMESTAMP AS OF is expected, and there is the end",
    f"RESTORE {T} TO VERSION 1": "AS OF is expected",
    **{
        f"RESTORE {T} TO VERSION AS OF {version}": "a version is a whole number"
        for version in ("-1", "1.0", "'1'", "@v1", "")
    },
    f"RESTORE {T} TO VERSION AS OF 1L": "the end is expected",
    f"RESTORE {T} TO VERSION AS OF 1 2": "the end is expected",
    **{
        f"RESTORE {T} TO TIMESTAMP AS OF {moment}": "a timestamp, a text in quotes, is expected"
        for moment in ("2026", "current_timestamp()", "")
    },
    "CONVERT TO DELTA t": "the folder of the files, as parquet.`/data/t`",
    "CONVERT TO DELTA '/t'": "the folder of the files",
    "CONVERT TO DELTA csv.`/t`": "the folder of the files, .* there is 'csv'",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY ()": "the name of a column is expected",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (a)": "a type is expected",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (a ARRAY<INT>)": "is expected, which array<int> is not",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (a DECIMAL(99,2))": "a decimal has 1 to 38 digits",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (a VARIANT)": "which variant is not",
    "CONVERT TO DELTA parquet.`/t` PARTITIONED BY (a INT) NO STATISTICS": "the end is expected, .* 'NO'",
    "GENERATE a FOR TABLE '/t'": "the name of a table is expected",
    f"GENERATE FOR TABLE {T}": "the kind of files to generate is expected",
}
EXTENSIONS_REFUSED = {
    f"FSCK TABLE {T}": "REPAIR is expected",
    f"FSCK REPAIR TABLE {T} DRY": "DRY RUN or the end is expected",
    f"ANALYZE TABLE {T}": "COMPUTE is expected",
    f"ANALYZE TABLE {T} COMPUTE STATISTICS NOSCAN": "FOR COLUMNS or the end is expected",
    f"ANALYZE TABLE {T} COMPUTE STATISTICS FOR COLUMNS": "the name of a column is expected",
    f"ANALYZE TABLE {T} COMPUTE DELTA STATISTICS FOR ALL COLUMNS": "FOR COLUMNS or the end is expected",
    f"ANALYZE TABLE {T} PARTITION (p = 1) COMPUTE STATISTICS": "COMPUTE is expected, .* 'PARTITION'",
}

_LATER = "Spark refuses it when it runs it"
STRICTER = {
    "OPTIMIZE ''": _LATER,
    "CONVERT TO DELTA t": "no catalog here has tables of other formats",
    "CONVERT TO DELTA csv.`/t`": _LATER,
    f"OPTIMIZE {T} WHERE ZORDER BY (id)": _LATER,
    f"OPTIMIZE {T} WHERE p = '": _LATER,
    f"OPTIMIZE {T} FULL WHERE p = 1": _LATER,
    f"OPTIMIZE {T} FULL ZORDER BY (id)": _LATER,
    **{
        f"VACUUM {T} RETAIN {hours} HOURS": "Spark does not obey RETAIN"
        for hours in ("-1", "1e999", "9" * 400)
    },
}
"""Texts of `REFUSED` that Spark parses, and why they are refused here."""
