"""Files chosen by the schemas in their footers."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from deltaarrow.scan.damage import reading
from deltaarrow.scan.data_files import DataFiles
from deltaarrow.scan.tasks import FileTask, TableLayout

__all__ = ["files_by_schema"]


def files_by_schema(
    layout: TableLayout, tasks: Sequence[FileTask], is_wanted: Callable[[pa.Schema], bool]
) -> list[FileTask]:
    """Return the files whose Arrow schema, under the names of the file, is wanted.

    Raises `CorruptDataFileError` for a file whose footer cannot be read.
    """
    store, files = layout.store, DataFiles(layout.store)

    def found(task: FileTask) -> bool:
        with reading(task.path):
            fragment = files.format.make_fragment(store.arrow_path(task.path), store.arrow_filesystem())
            return is_wanted(fragment.physical_schema)

    with ThreadPoolExecutor(min(32, 4 * (os.cpu_count() or 1))) as pool:
        return [task for task, wanted in zip(tasks, pool.map(found, tasks), strict=True) if wanted]
