"""`ensure_python`: checks the Python that Spark starts for a data source.

Spark runs a data source in Python processes of its own, on the driver too. It takes the program that the
variable ``PYSPARK_PYTHON`` named when the session began, or else ``python3``.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ensure_python"]

_SECONDS = 30
_ASKED = "import sys; print('%d.%d' % sys.version_info[:2]); import pyspark, deltaarrow"


def ensure_python(spark: "SparkSession") -> None:
    """Raise `MissingDependencyError` if the Python that Spark starts here cannot run the data source.

    A program in the folder of this process's Python is trusted; another one is started once. A session of
    Spark Connect has its Python on another machine, and is not asked.
    """
    context: Any = getattr(spark, "_sc", None)
    name = getattr(context, "pythonExec", None)
    if not isinstance(name, str):
        return
    found = shutil.which(name)
    if found is None:
        raise _wrong(name, "is not there")
    if Path(found).parent == Path(sys.executable).parent:
        return
    try:
        asked = subprocess.run(
            [found, "-c", _ASKED], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _wrong(found, f"does not start ({error})") from error
    own = "{}.{}".format(*sys.version_info[:2])
    version = asked.stdout.strip()
    if version and version != own:
        raise _wrong(found, f"is Python {version}, and this program is Python {own}")
    # Files given to Spark may bring the packages.
    if asked.returncode and not (context._python_includes or context.getConf().get("spark.submit.pyFiles")):
        said = (asked.stderr.strip().splitlines() or ["it fails"])[-1]
        raise _wrong(found, f"cannot run the data source ({said})")


def _wrong(program: str, why: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"the Python that Spark starts, {program}, {why}; set PYSPARK_PYTHON={sys.executable} in the"
        " environment before the session begins"
    )
