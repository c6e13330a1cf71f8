"""Statements on tables with missing or broken data files: the error names the file, nothing is changed."""

import os

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDataFileError
from tests.support.leftovers import files_of_log, files_on_disk

ROWS = pa.table({"id": list(range(5000)), "s": [f"text {each * 7919 % 5000}" for each in range(5000)]})


def cut_off(path: str) -> None:
    os.truncate(path, 1000)


def overwrite_pages(path: str) -> None:
    with open(path, "r+b") as file:
        file.seek(100)
        file.write(b"\x55" * 20_000)


def delete(table):
    table.delete("s LIKE '%999' AND id % 7 = 3")


def update(table):
    table.update({"s": "upper(s)"}, predicate="id % 7 = 3")


def merge(table):
    source = pa.table({"id": [5, 6], "s": ["a", "b"]})
    table.merge(source, "target.id = source.id").when_matched_update_all().execute()


@pytest.mark.parametrize("damage", [os.unlink, cut_off, overwrite_pages], ids=lambda each: each.__name__)
@pytest.mark.parametrize("vectors", ["true", "false"])
def test_the_damaged_file_is_named(tmp_path, damage, vectors):
    configuration = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": "true"}
    write_deltalake(str(tmp_path), ROWS, configuration=configuration)
    table = DeltaTable(str(tmp_path))
    (file,) = files_of_log(table)
    damage(str(tmp_path / file))
    for statement in (delete, update, merge):
        with pytest.raises(CorruptDataFileError, match=file):
            statement(table)
    table.update_incremental()
    assert table.version() == 0
    assert files_on_disk(tmp_path) <= {file}
