"""Writing a checkpoint of a table with an older checkpoint and later commits; the data files do not exist.

A run opens the table at its newest version and writes a checkpoint. Opening makes only ``deltalake`` read all
of the table's file actions. The checkpoint is deleted again before the next run.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, short
from benchmarks.data import write_log_of_checkpoint

__all__ = ["cases"]

_COMMITS = 20


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    found = []
    for adds in (200, *scale.checkpoint_adds):
        shape = f"adds_{short(adds)}_commits_{_COMMITS}_since_classic_checkpoint"
        write = partial(write_log_of_checkpoint, adds=adds, commits=_COMMITS)
        for policy, log in (
            ("classic", Dataset(shape, write)),
            ("v2", Dataset(f"{shape}_policy_v2", partial(write, policy="v2"))),
        ):
            engines = {OURS: _engine(_ours), "deltalake": _engine(_deltalake)}
            found.append(Case(f"{shape}_write_{policy}", log, engines, _describe_files))
    return found


def _engine(load: Callable[[], Callable[[Path], Any]]) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Path]:
        import shutil

        open_table = load()
        folder = scratch / "table"
        shutil.copytree(data, folder)
        log = folder / "_delta_log"
        hint = (log / "_last_checkpoint").read_bytes()
        before = set(log.rglob("*"))
        yield folder
        while True:
            open_table(folder).create_checkpoint()
            yield folder
            for file in set(log.rglob("*")) - before:
                if file.is_file():
                    file.unlink()
            (log / "_last_checkpoint").write_bytes(hint)

    return run


def _ours() -> Callable[[Path], Any]:
    import duckdb  # noqa: F401  the package loads it at its first query

    from deltaarrow import DeltaTable

    return DeltaTable


def _deltalake() -> Callable[[Path], Any]:
    from deltalake import DeltaTable

    return DeltaTable


def _describe_files(folder: Path) -> dict[str, int]:
    """The files in the checkpoint, read without the commits."""
    from deltalake import DeltaTable

    log = folder / "_delta_log"
    for commit in log.glob("*.json"):
        if len(commit.stem) == 20:
            commit.unlink()
    names = sorted(uri.rpartition("/")[2] for uri in DeltaTable(folder).file_uris())
    return {"files": len(names), "crc": zlib.crc32("\n".join(names).encode())}
