"""The suites of cases, by their names on the command line."""

from collections.abc import Callable, Mapping

from benchmarks.case import Case, Scale
from benchmarks.cases import (
    arrow_dataset,
    checkpoint,
    commit,
    compaction,
    constraints,
    contention,
    convert,
    daily_merges,
    decimals,
    distributed,
    dml,
    report,
    scan,
    snapshot_load,
    spark_source,
    sql,
    start_up,
    stores,
    table_life,
    tpch,
    vacuum,
    wide,
    write,
    z_order,
)

__all__ = ["SUITES"]

SUITES: Mapping[str, Callable[[Scale], list[Case]]] = {
    "start_up": start_up.cases,
    "snapshot_load": snapshot_load.cases,
    "scan": scan.cases,
    "arrow_dataset": arrow_dataset.cases,
    "tpch": tpch.cases,
    "wide": wide.cases,
    "decimals": decimals.cases,
    "write": write.cases,
    "constraints": constraints.cases,
    "commit": commit.cases,
    "contention": contention.cases,
    "checkpoint": checkpoint.cases,
    "dml": dml.cases,
    "dml_selectivity": dml.selectivity_cases,
    "maintenance": lambda scale: [
        *compaction.cases(scale),
        *z_order.cases(scale),
        *vacuum.cases(scale),
        *daily_merges.cases(scale),
    ],
    "table_life": lambda scale: [*table_life.cases(scale), *convert.cases(scale), *report.cases(scale)],
    "sql": sql.cases,
    "spark_source": spark_source.cases,
    "distributed": distributed.cases,
    "stores": stores.cases,
}
