"""``import deltaarrow`` is quick, and so are first statements: libraries load when something needs them."""

import json
import subprocess
import sys

HEAVY = ["pyarrow.dataset", "duckdb", "polars", "sqlglot", "pyspark", "pandas", "typer", "rich", "s3fs"]

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
