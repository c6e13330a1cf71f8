"""Planning imports little: Spark starts a Python process for each step."""

import json
import subprocess
import sys

import pyarrow as pa

import deltaarrow as da

SCRIPT = """
import json, pickle, sys

import pyspark.sql.worker.create_data_source
import pyspark.sql.worker.plan_data_source_read
import pyspark.sql.streaming.python_streaming_source_runner
from pyspark.sql.types import StructType

brought = set(sys.modules)

from pyspark import cloudpickle
from deltaarrow.spark.data_source import DeltaSource

found = {}
for kind, options in {"read": {}, "feed": {"readChangeFeed": "true", "startingVersion": "0"}}.items():
    source = DeltaSource({"path": sys.argv[1], **options})
    schema = source.schema()
    source = pickle.loads(cloudpickle.dumps(source))
    reader = source.reader(schema)
    cloudpickle.dumps(reader)
    found[kind] = sum(len(each.value) for each in reader.partitions())
source = DeltaSource({"path": sys.argv[1], "maxFilesPerTrigger": "10"})
reader = source.streamReader(source.schema())
start = reader.initialOffset()
end = reader.latestOffset(start, reader.getDefaultReadLimit())
cloudpickle.dumps(reader)
found["stream"] = sum(len(each.value) for each in reader.partitions(start, end))
heavy = ["duckdb", "pandas", "polars", "pyarrow.dataset", "pyarrow.parquet", "sqlglot"]
print(json.dumps([found, [name for name in heavy if name in sys.modules and name not in brought]]))
"""


def test_reads_are_planned_without_what_reads_files(tmp_path):
    settings = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    da.write_deltalake(tmp_path, pa.table({"id": range(10), "p": ["a", "b"] * 5}), configuration=settings)
    da.write_deltalake(tmp_path, pa.table({"id": [10], "p": ["a"]}), mode="append")
    da.DeltaTable(tmp_path).delete("id = 3")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"read": 2, "feed": 3, "stream": 2}, []]
