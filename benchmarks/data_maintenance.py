"""Tables that are to be tidied: folders with files that nobody needs."""

from pathlib import Path

__all__ = ["write_folder_of_files"]

_FOLDERS = 100


def write_folder_of_files(folder: Path, files: int) -> None:
    """Write so many empty files, of which every tenth is named by no commit; the others are live."""
    import os

    import pyarrow as pa

    from tests.support.tables import EPOCH_MS, TableBuilder

    builder = TableBuilder(folder)
    builder.protocol().metadata(pa.schema([("id", pa.int64())]))
    adds = []
    for part in range(_FOLDERS):
        (folder / f"f{part}").mkdir()
    for number in range(files):
        name = f"f{number % _FOLDERS}/part-{number:08d}.parquet"
        (folder / name).touch()
        os.utime(folder / name, (EPOCH_MS / 1000, EPOCH_MS / 1000))
        if number % 10:
            action = {"path": name, "partitionValues": {}, "size": 0, "modificationTime": EPOCH_MS}
            adds.append({"add": action | {"dataChange": True}})
    builder.commit(adds)
    builder.checkpoint()
