import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import ColumnProperties, WriterProperties, write_deltalake
from deltaarrow.write.dictionaries import columns_without_dictionary

ROWS = 100_000
NUMBERS = np.arange(ROWS)
DATA = pa.table(
    {
        "id": NUMBERS,
        "four_alike": NUMBERS // 4,
        "few": NUMBERS % 1000,
        "text": pa.array(NUMBERS).cast(pa.string()),
        "nothing": pa.nulls(ROWS, pa.int64()),
        "rarely": pa.array(NUMBERS, mask=NUMBERS % 10 != 0),
        "alike_at_first": np.where(NUMBERS < 200, 0, NUMBERS),
        "inner": pa.StructArray.from_arrays([pa.array(NUMBERS)], ["id"]),
    }
)


def with_dictionary(path) -> set[str]:
    (file,) = path.glob("*.parquet")
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    return {each.path_in_schema for each in columns if each.has_dictionary_page}


def test_columns_of_distinct_values_are_told_apart():
    distinct = {"id", "four_alike", "text", "rarely", "alike_at_first"}
    assert columns_without_dictionary(DATA, DATA.column_names) == distinct


def test_of_a_few_rows_nothing_is_said():
    assert columns_without_dictionary(DATA.slice(0, 1000), ["id"]) == set()


def test_files_have_dictionaries_where_values_recur(tmp_path):
    write_deltalake(tmp_path, DATA)
    assert with_dictionary(tmp_path) == {"few", "nothing", "inner.id"}


@pytest.mark.parametrize("rows", [1, 32, 33])
def test_files_of_very_few_rows_have_none(tmp_path, rows):
    write_deltalake(tmp_path, DATA.select(["id", "few", "text"]).slice(0, rows))
    assert bool(with_dictionary(tmp_path)) == (rows > 32)


@pytest.mark.parametrize("rows", [4, ROWS])
@pytest.mark.parametrize("enabled", [True, False])
def test_what_the_user_says_stands(tmp_path, enabled, rows):
    column = ColumnProperties(dictionary_enabled=enabled)
    properties = WriterProperties(column_properties={"id": column, "few": column})
    few = DATA.select(["id", "few", "text"]).slice(0, rows)
    write_deltalake(tmp_path, few, writer_properties=properties)
    assert with_dictionary(tmp_path) == ({"id", "few"} if enabled else set())
