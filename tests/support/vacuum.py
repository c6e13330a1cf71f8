"""What tests of VACUUM say: files that are old, tables that change, what goes and what stays."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.operations import VacuumOptions, vacuum_files
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store, open_store

__all__ = ["DAY_MS", "HOUR_MS", "append", "overwrite", "put", "reasons", "stored", "vacuum"]

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def put(root: Path, *names: str, days: float = 30) -> None:
    """Put small files, or folders where the name ends in a slash, that are so many days old."""
    moment = time.time() - days * 86_400
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        os.utime(path, (moment, moment))


def overwrite(path: Any, *ids: int, **options: Any) -> None:
    """Overwrite the table with rows; to a VACUUM that follows, the removed files are older than itself."""
    write_deltalake(path, pa.table({"id": pa.array(ids, pa.int64())}), mode="overwrite", **options)
    time.sleep(0.002)  # it keeps a file that was removed in its own millisecond


def append(path: Any, *ids: int, **options: Any) -> None:
    """Append rows to the table."""
    write_deltalake(path, pa.table({"id": pa.array(ids, pa.int64())}), mode="append", **options)


def stored(root: Any) -> set[str]:
    """All files of a table but those of its log, and folders without files with a slash at the end."""
    return {name for name in _below(Path(root)) if not name.startswith("_delta_log/")}


def _below(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        prefix = os.path.relpath(folder, root)
        prefix = "" if prefix == "." else f"{prefix}/"
        yield from (prefix + name for name in files)
        if prefix and not folders and not files:
            yield prefix


def vacuum(table: Any, hours: float | None = None, *, later_ms: int = 1000, **options: Any) -> list[str]:
    """What a VACUUM of a table deletes, or would, a while from now; the retention is not enforced.

    A second, because a file that is made in the same millisecond is younger than no retention at all.
    """
    store: Store = table if hasattr(table, "list_from") else open_store(table)
    given = VacuumOptions(retention_hours=hours, **{"enforce_retention_duration": False} | options)
    clock = lambda: time.time_ns() // 1_000_000 + later_ms  # noqa: E731
    return vacuum_files(Snapshot.load(store), given, clock=clock).paths


def reasons(path: Any, hours: float | None = None, **options: Any) -> dict[str, str]:
    """The reason of each file in a report, by path."""
    report = DeltaTable(path).vacuum_report(hours, **{"enforce_retention_duration": False} | options)
    return dict(zip(*report.select(["path", "reason"]).to_pydict().values(), strict=True))
