"""DuckDB's Delta extension as a peer, in a separate environment: it exists for DuckDB up to 1.5.5.

Engines named `EXTENSION` run in that environment, which `python_of_extension` creates if it is missing. They
load the extension, a file in a package, through `connect`.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["EXTENSION", "connect", "files_wanted", "python_of_extension"]

_VERSION = "1.5.5"
EXTENSION = f"duckdb {_VERSION}, delta extension"
"""The name of the engine."""

_PACKAGES = (f"duckdb=={_VERSION}", f"duckdb-extension-delta=={_VERSION}")


def python_of_extension(root: Path) -> Path:
    """Return the interpreter of the environment in folder `root`, which is created if it is missing."""
    folder = root / f"environment-duckdb-{_VERSION}-delta"
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(dir=root, prefix="draft-"))
        try:
            venv.create(draft, with_pip=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES]
            subprocess.run([_interpreter(draft), *install], check=True, stdout=sys.stderr)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return _interpreter(folder)


def _interpreter(folder: Path) -> Path:
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def connect(tables: Mapping[str, Path]) -> Any:
    """Return a DuckDB connection with the extension, and each table attached by its name.

    The extension then keeps its state of a table between queries, as an opened table does.
    """
    import duckdb
    import duckdb_extension_delta

    (file,) = Path(duckdb_extension_delta.__file__).parent.glob("extensions/*/delta.duckdb_extension")
    con = duckdb.connect()
    con.execute(f"LOAD '{file}'")
    for name, folder in tables.items():
        con.execute(f"ATTACH '{folder}' AS {name} (TYPE delta, PIN_SNAPSHOT)")
    return con


def files_wanted(con: Any, query: str) -> int:
    """Return how many files of its table a query would read; the query is planned again for this."""
    con.execute("SET enable_logging = true")
    con.execute("SET logging_level = 'info'")
    con.execute(query).fetchall()
    (found,) = con.execute("SELECT files_after FROM delta_filter_pushdown_log()").fetchall()
    return int(found[0])
