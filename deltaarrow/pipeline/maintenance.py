"""Reports on OPTIMIZE, REORG and VACUUM, made of the results that the front end of SQL returns."""

import pyarrow as pa

from deltaarrow.pipeline.engine import MaintenanceReport
from deltaarrow.sql.results import metrics_of
from deltaarrow.sql.statements.maintenance import Optimize, Reorg, Vacuum

__all__ = ["report_on"]

_OPERATIONS = {Optimize: "OPTIMIZE", Reorg: "REORG", Vacuum: "VACUUM"}


def report_on(statement: object, result: pa.Table | str) -> MaintenanceReport | None:
    """Return the report on a statement that was run; None for one of another kind."""
    if not isinstance(statement, Optimize | Reorg | Vacuum) or isinstance(result, str):
        return None
    metrics = metrics_of(result)
    files = metrics.pop("files", ())
    name = statement.table
    # Reports know a table by its path, where the statement names it so.
    place = name.parts[-1] if name.parts[0].lower() == "delta" else name.text
    return MaintenanceReport(place, _OPERATIONS[type(statement)], metrics, files)
