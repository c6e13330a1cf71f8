"""``import deltaarrow`` is quick: the heavy libraries load when something needs them."""

import json
import subprocess
import sys

HEAVY = ["pyarrow.dataset", "duckdb", "polars", "sqlglot", "pyspark", "pandas", "typer", "rich", "s3fs"]


def test_importing_the_package_loads_no_heavy_library():
    code = f"import deltaarrow, json, sys; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == []
