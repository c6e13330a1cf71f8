"""Import of optional libraries, with the ``pip install`` command for a missing one."""

import importlib
from types import ModuleType

from deltaarrow.errors import MissingDependencyError

__all__ = ["EXTRAS", "require"]

EXTRAS = {
    "polars": "polars",
    "pandas": "pandas",
    "pyspark": "spark",
    "s3fs": "s3",
    "gcsfs": "gcs",
    "adlfs": "azure",
    "aiohttp": "http",
    "huggingface_hub": "hf",
    "boto3": "glue",
    "thriftpy2": "hive",
    "typer": "cli",
    "rich": "cli",
    "prompt_toolkit": "cli",
    "pyiceberg": "iceberg",
}
"""Top-level module name -> the extra of this package that installs it."""


def require(module: str) -> ModuleType:
    """Import `module`; if it is missing, name the extra that installs it.

    Raises `MissingDependencyError` with the exact command when the library is missing.

    >>> require("polars").__name__
    'polars'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name != top:
            raise
        extra = EXTRAS.get(top, "all")
        raise MissingDependencyError(
            f"{top} is not installed; run: pip install 'deltaarrow[{extra}]'"
        ) from error
