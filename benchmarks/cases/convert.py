"""CONVERT of a folder of small Parquet files, with statistics.

Each run makes version 0 of the table; the log of the run before is deleted, which is not timed. Checking
every footer takes about half of our time. Only a reader that checks the first footer of a kind alone would
need less than half of deltalake's time, so the target is four fifths.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data_convert import write_parquet_folder

__all__ = ["cases"]


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    files = scale.small_files * 5
    dataset = Dataset(
        f"parquet_files_{short(files)}_hive_partitions", partial(write_parquet_folder, files=files)
    )
    targets = (Target("deltalake", 0.8),) if files >= 10_000 else ()
    engines = {OURS: _engine(_ours), "deltalake": _engine(_deltalake)}
    return [Case(f"{dataset.name}_convert", dataset, engines, _summary, targets=targets)]


def _engine(load: Callable[[], Callable[[Path], None]]) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Any]:
        folder = scratch / "table"
        shutil.copytree(data, folder)
        convert = load()
        yield
        while True:
            convert(folder)
            yield folder
            shutil.rmtree(folder / "_delta_log")
            yield READY

    return run


def _ours() -> Callable[[Path], None]:
    import pyarrow.parquet  # noqa: F401  the package loads it at its first footer

    from deltaarrow import convert_to_deltalake

    def convert(folder: Path) -> None:
        convert_to_deltalake(folder)

    return convert


def _deltalake() -> Callable[[Path], None]:
    from deltalake import convert_to_deltalake
    from deltalake.schema import Field, PrimitiveType, Schema

    partitions = Schema([Field("shop", PrimitiveType("integer"))])
    return lambda folder: convert_to_deltalake(
        str(folder), partition_by=partitions, partition_strategy="hive"
    )


def _summary(folder: Path) -> dict[str, int]:
    """How many files the table has, and what their statistics say of the rows."""
    lines = (folder / "_delta_log" / f"{0:020d}.json").read_text(encoding="utf-8").splitlines()
    adds = [action["add"] for action in map(json.loads, lines) if "add" in action]
    stats = [json.loads(add["stats"]) for add in adds]
    return {
        "files": len(adds),
        "rows": sum(each["numRecords"] for each in stats),
        "ids": sum(each["maxValues"]["id"] - each["minValues"]["id"] for each in stats),
        "shops": sum(int(add["partitionValues"]["shop"]) for add in adds),
    }
