"""`file_uris` says when the files that it names are not the rows of the table."""

import warnings

import pyarrow as pa
import pyarrow.dataset as pads
import pytest

import deltaarrow as da
from deltaarrow.errors import DeltaWarning

ROWS = pa.table({"id": [1, 2, 3], "p": ["a", "a", "b"]})


@pytest.fixture
def deleted(tmp_path):
    """A deletion vector in one file of two."""
    features = {"delta.enableDeletionVectors": "true"}
    da.write_deltalake(tmp_path, ROWS, partition_by="p", configuration=features)
    table = da.DeltaTable(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(table.file_uris()) == 2  # the feature alone changes no rows
    table.delete("id = 1")
    return table


def test_files_with_deletion_vectors_are_warned_of(deleted):
    with pytest.warns(DeltaWarning, match="deletion vectors say which of their rows are deleted") as found:
        uris = deleted.file_uris()
    assert found[0].filename == __file__
    assert sum(pads.dataset(uri).count_rows() for uri in uris) == 3
    assert deleted.count() == 2


def test_the_files_of_the_dataset_are_warned_of(deleted):
    dataset = deleted.to_pyarrow_dataset()
    with pytest.warns(DeltaWarning, match=r"get_fragments\(\)"):
        assert len(dataset.files) == 2


def test_files_without_deletion_vectors_are_not_warned_of(deleted):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(deleted.file_uris(file_pruning_predicate=[("p", "=", "b")])) == 1


def test_files_of_mapped_columns_are_warned_of(tmp_path):
    da.write_deltalake(tmp_path, ROWS, configuration={"delta.columnMapping.mode": "name"})
    with pytest.warns(DeltaWarning, match="column mapping gives their columns other names"):
        [uri] = da.DeltaTable(tmp_path).file_uris()
    assert "id" not in pads.dataset(uri).schema.names


def test_plain_tables_are_not_warned_of(tmp_path):
    da.write_deltalake(tmp_path, ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(da.DeltaTable(tmp_path).file_uris()) == 1
