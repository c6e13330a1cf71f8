"""Extensions of DuckDB as peers, in separate environments: they exist for DuckDB up to 1.5.5.

Engines named `EXTENSION` and `HTTPFS` run in the environment that `python_of` creates for each if it is
missing. They load the extension, a file in a package, through `connect` and `connect_to`.
"""

import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "ELSEWHERE",
    "EXTENSION",
    "HTTPFS",
    "connect",
    "connect_to",
    "files_wanted",
    "is_elsewhere",
    "python_of",
]

_VERSION = "1.5.5"
ELSEWHERE = f"duckdb {_VERSION}, "
"""What the names of these engines begin with."""
EXTENSION = f"{ELSEWHERE}delta extension"
HTTPFS = f"{ELSEWHERE}httpfs extension"
"""The names of the engines."""

_NAMES = {EXTENSION: "delta", HTTPFS: "httpfs"}


def is_elsewhere(engine: str) -> bool:
    """Whether an engine runs in an environment of its own."""
    return engine in _NAMES


def python_of(engine: str, root: Path) -> Path:
    """Return the interpreter of an engine, whose environment in folder `root` is created if it is missing."""
    extension = _NAMES[engine]
    folder = root / f"environment-duckdb-{_VERSION}-{extension}"
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(dir=root, prefix="draft-"))
        packages = (f"duckdb=={_VERSION}", f"duckdb-extension-{extension}=={_VERSION}")
        try:
            venv.create(draft, with_pip=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
            subprocess.run([_interpreter(draft), *install], check=True, stdout=sys.stderr)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return _interpreter(folder)


def _interpreter(folder: Path) -> Path:
    return folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def connect(tables: Mapping[str, Path]) -> Any:
    """Return a DuckDB connection with the Delta extension, and each table attached by its name.

    The extension then keeps its state of a table between queries, as an opened table does.
    """
    import duckdb_extension_delta

    con = _connection(duckdb_extension_delta.__file__, "delta")
    for name, folder in tables.items():
        con.execute(f"ATTACH '{folder}' AS {name} (TYPE delta, PIN_SNAPSHOT)")
    return con


def connect_to(storage_options: Mapping[str, str]) -> Any:
    """Return a DuckDB connection whose own reader reaches a server of S3's interface over HTTP."""
    import duckdb_extension_httpfs

    con = _connection(duckdb_extension_httpfs.__file__, "httpfs")
    settings = {
        "KEY_ID": storage_options["AWS_ACCESS_KEY_ID"],
        "SECRET": storage_options["AWS_SECRET_ACCESS_KEY"],
        "REGION": storage_options["AWS_REGION"],
        "ENDPOINT": storage_options["AWS_ENDPOINT_URL"].removeprefix("http://"),
    }
    told = ", ".join(f"{name} '{value}'" for name, value in settings.items())
    con.execute(f"CREATE SECRET (TYPE s3, {told}, USE_SSL false, URL_STYLE 'path')")
    return con


def _connection(package: str, extension: str) -> Any:
    import duckdb

    (file,) = Path(package).parent.glob(f"extensions/*/{extension}.duckdb_extension")
    con = duckdb.connect()
    con.execute(f"LOAD '{file}'")
    return con


def files_wanted(con: Any, query: str) -> int:
    """Return how many files of its table a query would read; the query is planned again for this."""
    con.execute("SET enable_logging = true")
    con.execute("SET logging_level = 'info'")
    con.execute(query).fetchall()
    (found,) = con.execute("SELECT files_after FROM delta_filter_pushdown_log()").fetchall()
    return int(found[0])
