"""``import deltaarrow`` and first statements are fast: libraries load only when needed."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest

from deltaarrow import write_deltalake

HEAVY = [
    "pyarrow.dataset",
    "duckdb",
    "polars",
    "sqlglot",
    "pyspark",
    "pandas",
    "typer",
    "rich",
    "s3fs",
    "pyiceberg",
]

# `pyarrow.array` and `pyarrow.scalar` look for pandas, and so does pyarrow.dataset when it is imported.
STATEMENTS = """
import json, pathlib, sys, tempfile

class Finder:
    wanted = []

    def find_spec(self, name, path=None, target=None):
        if name in ("pandas", "pyarrow.dataset"):
            self.wanted.append(f"{name} in {statement}")

sys.meta_path.insert(0, Finder())
import numpy, duckdb, deltaarrow
from deltaarrow import DeltaTable

con = duckdb.connect()
folder = tempfile.mkdtemp()
rows = "SELECT i AS id, mod(i, 7) AS kind, 'name ' || i AS name FROM range({}, {}) AS r(i)"
first, second, source = (
    con.sql(rows.format(*span)).to_arrow_table() for span in [(0, 100), (100, 110), (90, 130)]
)

def merged():
    merge = DeltaTable(folder).merge(source, "t.id = s.id", "s", "t")
    return merge.when_matched_update_all().when_not_matched_insert_all().execute()

def queried():
    deltaarrow.register(con, "shown", DeltaTable(folder))
    return con.sql("SELECT count(*) FROM shown WHERE id > 5 AND kind <> 2").fetchall()

for statement, run in {
    "write": lambda: deltaarrow.write_deltalake(folder, first, configuration=%(properties)r),
    "append": lambda: deltaarrow.write_deltalake(folder, second, mode="append"),
    "lose the checksums": lambda: [file.unlink() for file in pathlib.Path(folder).rglob("*.crc")],
    "count": lambda: DeltaTable(folder).count(),
    "delete": lambda: DeltaTable(folder).delete("id = 95"),
    "update": lambda: DeltaTable(folder).update({"name": "upper(name)"}, predicate="id < 5"),
    "merge": merged,
    "query": queried,
}.items():
    run()
print(json.dumps([DeltaTable(folder).version(), Finder.wanted]))
"""


def run(code):
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def test_importing_the_package_loads_no_heavy_library():
    code = f"import deltaarrow, json, sys; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    assert run(code) == []


def test_statements_and_queries_load_neither_pandas_nor_datasets():
    properties = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    assert run(STATEMENTS % {"properties": properties}) == [4, []]


# Each takes as long to import as the rest of the package, or a tenth of it and nothing there needs it.
UNNEEDED = [
    "pyarrow.compute",
    "pyarrow.fs",
    "pyarrow.parquet",
    "hashlib",
    "logging",
    "tempfile",
    "urllib.parse",
]
OPENED = """
import sys
import pyarrow
loaded = {*sys.modules}
from deltaarrow import DeltaTable
table = DeltaTable(%(folder)r)
assert (table.version(), table.count(), len(table.file_uris())) == (0, 3, 1)
import json
print(json.dumps(sorted({*%(unneeded)r} & ({*sys.modules} - loaded))))
"""
PACKAGES = ["engines", "operations", "spark_sql", "transaction", "variant", "verify", "write"]


def test_opening_and_counting_a_table_loads_no_more_of_libraries_than_that_takes(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}))
    assert run(OPENED % {"folder": str(tmp_path), "unneeded": UNNEEDED}) == []


# What each statement on a small table does without. pandas is looked for by `pyarrow.array`, `pyarrow.scalar`
# and `pyarrow.dataset`, and `numpy.ma` by `numpy.unique`.
SLOW = ["pandas", "pyarrow.dataset", "pyarrow.compute", "numpy.ma"]
SLOW += [
    "deltaarrow.spark_sql.functions.registry",
    "deltaarrow.operations.optimize.rewriting",
    "deltaarrow.variant.shredding",
]
FIRST = """
import sys
import pyarrow as pa
from deltaarrow import DeltaTable
table = DeltaTable(%(folder)r)
rows = %(statement)s
import json
print(json.dumps([rows, sorted({*%(unneeded)r} & {*sys.modules})]))
"""
SOURCE = "pa.ipc.open_stream(pa.OSFile({!r})).read_all()"
STATEMENTS_AND_ROWS = {
    "table.to_pyarrow_table().num_rows": 20,
    "pa.RecordBatchReader.from_stream(table).read_all().num_rows": 20,
    "table.delete(\"id = 2 AND x > 1.0\")['num_deleted_rows']": 1,
    "table.update({'name': \"'new'\"}, predicate='id = 2')['num_updated_rows']": 1,
    "table.merge(SOURCE, 't.id = s.id', 's', 't').when_matched_update_all()"
    ".when_not_matched_insert_all().execute()['num_target_rows_inserted']": 1,
}


@pytest.mark.parametrize("has_vectors", [False, True], ids=["", "vectors"])
def test_first_statements_load_no_more_of_libraries_than_they_take(tmp_path, has_vectors):
    properties = {"delta.enableDeletionVectors": str(has_vectors).lower()}
    rows = pa.table({"id": range(20), "name": ["a", "b", None, "d"] * 5, "x": [0.5, 1.5, 2.5, None] * 5})
    with pa.OSFile(str(tmp_path / "source"), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        writer.write_table(pa.table({"id": [4, 20], "name": ["e", "f"], "x": [1.0, 2.0]}))
    for number, (statement, expected) in enumerate(STATEMENTS_AND_ROWS.items()):
        folder = str(tmp_path / str(number))
        write_deltalake(folder, rows, configuration=properties)
        statement = statement.replace("SOURCE", SOURCE.format(str(tmp_path / "source")))
        is_read = number < 2
        unneeded = [*SLOW, "duckdb", "deltaarrow.spark_sql.rules.condition"] if is_read else SLOW
        if has_vectors and not is_read:
            unneeded = [each for each in SLOW if each != "pyarrow.compute"]  # It counts deleted rows.
        found, loaded = run(FIRST % {"folder": folder, "statement": statement, "unneeded": unneeded})
        assert (found, loaded) == (expected, [])


def test_importing_the_table_loads_none_of_what_writes_and_scans():
    code = "import json, sys; from deltaarrow import DeltaTable; print(json.dumps(sorted(sys.modules)))"
    found = [name for name in run(code) if name.startswith("deltaarrow.")]
    beneath = {name.split(".")[1] for name in found if name.count(".") > 1}
    assert beneath.isdisjoint(PACKAGES)
    assert "deltaarrow.scan.plan" not in found


def test_a_statement_of_sql_loads_neither_pandas_nor_datasets(tmp_path):
    """Both cost more than the rest of a first CREATE VIEW."""
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    view = f"CREATE VIEW v AS SELECT * FROM delta_scan('{tmp_path}')"
    code = f"""
import json, sys
import deltaarrow
con = deltaarrow.connect()
con.sql({view!r})
assert con.sql("SELECT id FROM v").fetchall() == [(1,)]
print(json.dumps([name for name in ("pandas", "pyarrow.dataset") if name in sys.modules]))
"""
    assert run(code) == []
