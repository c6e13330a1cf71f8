"""Folders stay small, and the names of files say what they hold: a newcomer finds the file of a task."""

from collections import Counter, defaultdict

import pytest

from tests.support.modules import PACKAGE, ROOT, modules

MOST_MODULES = 25
"""Modules of its own that a folder may have, unless `docs/architecture.md` says why it is one thought."""

PARALLEL = {
    "statements": "the classes of statements, in each family of SQL statements",
    "spark": "the grammar of Spark's dialect, in each family of SQL statements",
    "duckdb": "the grammar of DuckDB's dialect, in each family of SQL statements",
    "handlers": "the handlers, in each family of SQL statements",
    "explain": "the explanation of one engine's queries, or of one family of statements",
    "plan": "what an operation decides before it acts",
    "options": "the options of an operation or of a store",
    "requests": "the requests to one kind of store",
    "registry": "the one list of what a part offers",
    "properties": "the table properties, and the commands of the shell for them",
    "row_tracking": "the state of the feature in a table, and its removal",
    "table": "one table of a catalog",
    "catalog": "one kind of catalog",
    "client": "the requests to one kind of catalog",
    "__main__": "Python's name for a program",
    "delta_table": "the class of delta-spark, and ours",
    "writer": "deltalake's module, and the writers of data and of checkpoints",
}
"""Names of modules that several folders have, and what each of them holds."""

TASKS = {
    "change how a partition value is spelled as a string in the log": "partitions/values.py",
    "choose among several checkpoints of a range of versions": "log/segment.py",
    "add a rule for conflicts between concurrent commits": "transaction/conflicts.py",
    "change where maximum strings in statistics are cut": "statistics/render.py",
    "add a table property": "features/properties.py",
    "change which files VACUUM must keep": "operations/vacuum/needed.py",
    "change the curve of Z-order": "operations/optimize/curve.py",
    "change the retries of requests to Unity Catalog": "catalogs/unity/client.py",
    "change the error for an argument of older releases of deltalake": "table/deltalake_arguments.py",
    "give Polars's own reader the S3 credentials of a table": "engines/polars/object_stores.py",
    "let another form of a WHERE condition skip files in DuckDB": "engines/duckdb/where_conditions.py",
    "change when a checkpoint is written after a commit": "operations/commit/log_maintenance.py",
    "SQL: fix the function levenshtein": "spark_sql/functions/string.py",
    "SQL: fix the function try_divide": "spark_sql/functions/try_functions.py",
    "SQL: fix the function from_json": "spark_sql/functions/json.py",
    "SQL: fix the function date_trunc": "spark_sql/functions/datetime.py",
    "SQL: change the implicit cast of an operand": "spark_sql/types/coercion.py",
    "SQL: fix the precision of a product of decimals": "spark_sql/types/decimals.py",
    "SQL: add a row to the result of SHOW TBLPROPERTIES": "sql/describe/handlers.py",
    "SQL: accept another clause in Spark's ALTER TABLE": "sql/alter/spark.py",
    "SQL: add a session setting that SET accepts": "sql/session_settings.py",
    "SQL: change which files COPY INTO has copied already": "sql/copy/copied_files.py",
    "SQL: fix PIVOT": "spark_sql/queries/pivoting.py",
    "SQL: fix the plan that EXPLAIN shows for MERGE": "sql/rows/explain.py",
}
"""Tasks, and the file that a reader of the names and of `docs/architecture.md` should open first."""


def test_folders_stay_small():
    counts = Counter(
        each.path.parent.relative_to(ROOT / PACKAGE).as_posix() for each in modules() if not each.is_package
    )
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    large = {folder for folder, count in counts.items() if count > MOST_MODULES}
    assert [
        folder for folder in large if f"| `{folder}/` |" not in page.partition("## Large folders")[2]
    ] == []


def test_a_name_is_borne_by_one_module():
    folders = defaultdict(list)
    for each in modules():
        if not each.is_package:
            folders[each.path.stem].append(each.path.parent.relative_to(ROOT / PACKAGE).as_posix())
    repeated = {name: found for name, found in folders.items() if len(found) > 1}
    assert {name: found for name, found in repeated.items() if name not in PARALLEL} == {}
    assert PARALLEL.keys() - repeated.keys() == set(), "no longer repeated"


@pytest.mark.parametrize("task", TASKS)
def test_the_file_of_a_task_is_there(task):
    assert (ROOT / PACKAGE / TASKS[task]).is_file()
