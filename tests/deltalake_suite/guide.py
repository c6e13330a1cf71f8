"""The guide of deltalake, page by page, run with the import changed.

``python -m tests.deltalake_suite.guide FOLDER`` runs the Python in the Markdown files of a folder, such as
`docs/` of deltalake's repository. The examples of a page run in one session, one after another, in a folder
with the tables that the page names. What fails is listed with its error, and with that of deltalake itself
if it fails there, too.

* ``--data FOLDER`` has the tables that the guide reads from ``../rust/tests/data``: `crates/test/tests/data`
  of deltalake's source distribution.
* ``--alias`` lets other libraries import this package, too, when they import ``deltalake``.
* With ``AWS_ENDPOINT_URL`` in the environment, the pages on S3 run against that server.
"""

import argparse
import contextlib
import itertools
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow import write_deltalake
from tests.deltalake_suite.snippets import make_names, read_examples, run, strip_output

LETTERS = {"num": [1, 2, 3], "letter": ["a", "b", "c"]}
MEASURES = {
    **{name: ["id016", "id096", "id001"] for name in ("id1", "id2", "id3")},
    **{name: [1, 5, 14] for name in ("id4", "id5", "id6", "v1", "v2")},
    "v3": [1.5, 2.5, 3.5],
}
PEOPLE = {
    "first_name": ["Ada", "Bo", "Cem"],
    "last_name": ["L", "M", "N"],
    "country": ["Argentina", "China", "Germany"],
    "continent": [None, "Asia", None],
}
TABLES = {
    **dict.fromkeys(("tmp/some-table", "tmp/my-table", "<path/to/table>"), LETTERS),
    "<path/to/valid/table>": LETTERS,
    "my_table": {"id": ["1", "2"], "value": [1, 2]},
    "tmp": PEOPLE,
    "test": LETTERS,
    **dict.fromkeys(("path/to/delta_table", "path/to/data/people_countries_delta_dask"), PEOPLE),
    "data/deltalake_baseline_G1_1e9_1e2_0_0": MEASURES,
    **{f"{folder}G1_1e9_1e2_0_0": MEASURES for folder in ("", "delta/", "data/deltalake/")},
}
"""The tables that pages take as there."""
_HOME = re.compile(r"~/data/|\{Path\.home\(\)\}/data/")
_BLANK = re.compile(r"(?<=[:=])( ?)<(\w+)>")
"""What a reader fills in, such as ``<key_id>``."""


def fill_in(page):
    """Return a page with values for what its reader fills in."""
    page = _HOME.sub("data/", page).replace('"/tmp/', '"').replace("    ...\n}", "}")
    return _BLANK.sub(r'\1"us-east-1"', page).replace("DeltaTable(...)", 'DeltaTable("given")')


def make_tables(page):
    """Write the tables and files that a page reads before it writes them, in the current folder."""
    for path, columns in TABLES.items():
        first = re.search(rf"""(write_delta\w*\(\s*)?["']{re.escape(path)}["']""", page)
        if first is None or (first[1] and 'mode="append"' not in page[first.end() : first.end() + 40]):
            continue
        by = ["country"] if columns is PEOPLE and path != "tmp" else None
        for mode in ("error", "overwrite", "overwrite", "overwrite"):
            write_deltalake(path, pa.table(columns), mode=mode, partition_by=by)
    if "G1_1e9_1e2_0_0" in page:
        Path("data").mkdir(exist_ok=True)
        for stem in ("data/G1_1e9_1e2_0_0", "G1_1e9_1e2_0_0"):
            pd.DataFrame(MEASURES).to_csv(f"{stem}.csv", index=False)
            pd.DataFrame(MEASURES).to_parquet(f"{stem}.parquet")
    if "mytable" in page:
        Path("mytable").mkdir()
        pd.DataFrame({"num": [1, 2, 3]}).to_parquet("mytable/part.parquet")


def make_buckets(page):
    """Make the buckets that a page names, if there is a server for them."""
    if os.environ.get("AWS_ENDPOINT_URL"):
        import s3fs

        files = s3fs.S3FileSystem()
        for bucket in set(re.findall(r"""["']s3a?://([\w-]+)/""", page)):
            if not files.exists(bucket):
                files.mkdir(bucket)


def run_page(path, data=None, changed=True):
    """Run the examples of a page of Markdown in one session; return the error of each by name, or None.

    Where the import is not `changed`, the examples use deltalake.
    """
    page = fill_in(Path(path).read_text(encoding="utf-8") + "\n")
    codes = [strip_output(code) for code in read_examples(page)]
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "python")
        folder.mkdir()
        if data is not None:
            shutil.copytree(data, Path(root, "rust", "tests", "data"))
        with contextlib.chdir(folder):
            make_tables(page)
            make_buckets(page)
            own = {"pd": pd, "pl": pl, "pc": pc, "itertools": itertools, "Path": Path, "time": time}
            names = {**make_names(""), **own}
            if not changed:
                import deltalake

                names = {**names, **{n: getattr(deltalake, n) for n in dir(deltalake) if n in names}}
                names |= dict.fromkeys(("dt", "table"), deltalake.DeltaTable("given"))
            try:
                named = {f"{Path(path).stem}.{n}": code for n, code in enumerate(codes) if code}
                return {name: run(code, names, changed) for name, code in named.items()}
            finally:
                os.environ.clear()
                os.environ.update(before)


def main():
    """Run the pages, and print what fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the Markdown files, or one of them")
    parser.add_argument("--data", type=Path, help="the tables of deltalake's own tests")
    parser.add_argument("--alias", action="store_true", help="import this package for deltalake everywhere")
    asked = parser.parse_args()
    if asked.alias:
        from tests.deltalake_suite import deltalake_alias  # noqa: F401
    pages = sorted(asked.folder.rglob("*.md")) if asked.folder.is_dir() else [asked.folder]
    errors, others = {}, {}
    for page in pages:
        errors |= run_page(page, asked.data)
        others |= {} if asked.alias else run_page(page, asked.data, changed=False)
    failed = {name: error for name, error in errors.items() if error}
    for name, error in failed.items():
        print(f"{name}: {type(error).__name__}: {error}")
        if others.get(name):
            print(f"    in deltalake, too: {type(others[name]).__name__}: {others[name]}")
    told = sum(others.get(name) is not None for name in failed)
    print(f"{len(errors)} examples, {len(errors) - len(failed)} run, {told} others fail in deltalake, too")


if __name__ == "__main__":
    sys.exit(main())
