"""The eight tables of TPC-H, by its generator in Rust, ``tpchgen-cli``; logs are written by hand."""

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DELETED", "DELETED_IN_ONE", "LIVE", "TABLES", "write_tpch"]

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")

DELETED = "deleted"
"""The folder of a second ``lineitem`` a part of whose rows are deleted by deletion vectors."""
LIVE = "live"
"""The folder of files without these rows."""
DELETED_IN_ONE = "deleted_in_one"
"""The folder of a third ``lineitem``, of links to the same files; one of them has its deletion vector."""

_FILES = {"lineitem": 15, "orders": 4}
_DELETED_PERCENT = 5
_ROWS_PER_GROUP = 122_880


def write_tpch(folder: Path, scale_factor: float) -> None:
    """Write every table into a folder of its name: its files, and a log."""
    raw = folder / "generated"
    # A run takes seconds before its first row, so it makes all tables of as many files.
    for parts in {1, *_FILES.values()}:
        _generate(raw, [table for table in TABLES if _FILES.get(table, 1) == parts], parts, scale_factor)
    for table in TABLES:
        _write_table(folder / table, raw / table)
    _write_deleted(folder, raw / "lineitem")
    _write_deleted_in_one(folder)
    shutil.rmtree(raw)


def _generate(folder: Path, tables: list[str], parts: int, scale_factor: float) -> None:
    program = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or "tpchgen-cli"
    wanted = ["--tables", ",".join(tables), "--parts", str(parts), "--output-dir", str(folder)]
    subprocess.run([program, "parquet", "--scale-factor", str(scale_factor), *wanted], check=True)


def _parts(generated: Path) -> "list[pa.Table]":
    """The rows of each file, in the order of the generator, in types that all engines have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = sorted(generated.glob("*.parquet"), key=lambda file: int(file.suffixes[-2][1:]))
    found = []
    for file in files:
        rows = pq.read_table(file)
        fields = [
            pa.field(f.name, pa.string() if pa.types.is_string_view(f.type) else f.type) for f in rows.schema
        ]
        found.append(rows.cast(pa.schema(fields)))
    return found


def _write_table(folder: Path, generated: Path) -> None:
    from tests.support.tables import TableBuilder

    builder = TableBuilder(folder)
    parts = _parts(generated)
    builder.protocol().metadata(parts[0].schema)
    groups = {"row_group_size": _ROWS_PER_GROUP}
    builder.commit(
        [
            builder.add_file(part, name=f"part-{number:05d}.parquet", parquet=groups)
            for number, part in enumerate(parts)
        ]
    )


def _write_deleted(folder: Path, generated: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tests.support.tables import TableBuilder

    builder = TableBuilder(folder / DELETED)
    live = folder / LIVE
    live.mkdir()
    adds = []
    for number, part in enumerate(_parts(generated)):
        if not number:
            enabled = {"delta.enableDeletionVectors": "true"}
            builder.features("deletionVectors").metadata(part.schema, configuration=enabled)
        rows = part.num_rows
        gone = np.random.default_rng(number).choice(rows, rows * _DELETED_PERCENT // 100, replace=False)
        keep = np.ones(rows, bool)
        keep[gone] = False
        name, groups = f"part-{number:05d}.parquet", {"row_group_size": _ROWS_PER_GROUP}
        vector = builder.deletion_vector(gone.astype(np.uint64))
        adds.append(builder.add_file(part, name=name, parquet=groups, deletion_vector=vector))
        pq.write_table(part.filter(pa.array(keep)), live / name, store_schema=False, **groups)
    builder.commit(adds)


def _write_deleted_in_one(folder: Path) -> None:
    """Write the table with deletion vectors again, and leave all of these out but the one in the middle."""
    source, target = folder / DELETED, folder / DELETED_IN_ONE
    shutil.copytree(source, target, copy_function=os.link)
    (log,) = (target / "_delta_log").glob("*.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    adds = [line["add"] for line in lines if "add" in line]
    for number, add in enumerate(adds):
        if number != len(adds) // 2:
            del add["deletionVector"]
    log.unlink()
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
