"""OPTIMIZE, REORG and VACUUM with what they are taken apart into, and texts that are no such statements."""

from deltaarrow.spark_sql import OptimizeText, ReorgText, VacuumText

__all__ = ["OPTIMIZE", "REFUSED", "REORG", "STRICTER", "VACUUM"]

OPTIMIZE = {
    "OPTIMIZE delta.`/t`": OptimizeText("/t", False, None, ()),
    "optimize DELTA . `/a b/é``f` full": OptimizeText("/a b/é`f", True, None, ()),
    "OPTIMIZE delta.`/t` WHERE p = 'ZORDER BY (id)'": OptimizeText("/t", False, "p = 'ZORDER BY (id)'", ()),
    "OPTIMIZE delta.`/t` WHERE zorder = 1 /* ; */ AND (q) ZORDER BY a": OptimizeText(
        "/t", False, "zorder = 1 /* ; */ AND (q)", ("a",)
    ),
    "OPTIMIZE delta.`/t` ZORDER BY (`a b`.c, `d``.e`, date, s . key)": OptimizeText(
        "/t", False, None, ("`a b`.c", "`d``.e`", "date", "s.key")
    ),
    "OPTIMIZE delta.`/t` ZORDER BY id, s.x": OptimizeText("/t", False, None, ("id", "s.x")),
}
REORG = {
    "REORG TABLE delta.`/t` APPLY (PURGE)": ReorgText("/t", None),
    "reorg table delta.`/t` where apply = 'APPLY (PURGE)' apply ( purge )": ReorgText(
        "/t", "apply = 'APPLY (PURGE)'"
    ),
    "REORG TABLE delta.`/t` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))": ReorgText("/t", None, 2),
    "reorg table delta.`/t` apply (upgrade uniform (iceberg_compat_version == 3))": ReorgText("/t", None, 3),
}
VACUUM = {
    "VACUUM delta.`/t`": VacuumText("/t", False, None, False),
    "vacuum delta.`/t` full": VacuumText("/t", False, None, False),
    "VACUUM delta.`/t` LITE DRY RUN": VacuumText("/t", True, None, True),
    "VACUUM delta.`/t` DRY RUN RETAIN 1.5 HOURS LITE": VacuumText("/t", True, 1.5, True),
    "VACUUM delta.`/t` RETAIN 1e2 HOURS FULL": VacuumText("/t", False, 100.0, False),
    "VACUUM delta.`/t` RETAIN 0 HOURS": VacuumText("/t", False, 0.0, False),
}
T = "delta.`/t`"
REFUSED = {
    "OPTIMIZE": "a table by its path is expected, .* and there is the end",
    "OPTIMIZE t": "a table by its path",
    "OPTIMIZE '/t'": "a table by its path",
    f"OPTIMIZE TABLE {T}": "a table by its path .* there is 'TABLE'",
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
    "VACUUM t": "a table by its path",
    f"VACUUM TABLE {T}": "a table by its path",
    f"VACUUM {T}, {T}": "each once, is expected, and there is ','",
    f"VACUUM {T} FULL LITE": "each once, is expected, and there is 'LITE'",
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
    f"VACUUM {T} USING INVENTORY i": r"USING INVENTORY is not supported here: .*vacuum\(inventory=",
}

_BY_NAME = "a table that a catalog knows by its name"
_LATER = "Spark refuses it when it runs it"
STRICTER = {
    "OPTIMIZE t": _BY_NAME,
    "VACUUM t": _BY_NAME,
    "OPTIMIZE '/t'": "reports know tables in backticks alone",
    f"OPTIMIZE {T} WHERE ZORDER BY (id)": _LATER,
    f"OPTIMIZE {T} WHERE p = '": _LATER,
    f"OPTIMIZE {T} FULL WHERE p = 1": _LATER,
    f"OPTIMIZE {T} FULL ZORDER BY (id)": _LATER,
    f"VACUUM {T} USING INVENTORY i": "there is no inventory on one node yet",
    **{
        f"VACUUM {T} RETAIN {hours} HOURS": "Spark does not obey RETAIN"
        for hours in ("-1", "1e999", "9" * 400)
    },
}
"""Texts of `REFUSED` that Spark parses, and why they are refused here."""
