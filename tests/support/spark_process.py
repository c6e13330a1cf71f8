"""A Spark driver in its own process, for tests that kill it or need more than one process of a cluster.

`SparkProcess` runs a script with these variables: `spark`, a session without delta-spark that knows the data
source; `path`, a table; `marks`, a folder in which the script creates empty files to report its progress; and
`mark`, which creates one. Executors and drivers find the project through PYTHONPATH.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.support.modules import ROOT

__all__ = ["SPECULATING", "SparkProcess", "StandaloneCluster"]

_PREAMBLE = """
import os, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
import deltaarrow.spark

path, marks = sys.argv[1], Path(sys.argv[2])


def mark(name):
    (marks / name).touch()


builder = SparkSession.builder
for setting in sys.argv[3:]:
    builder = builder.config(*setting.split("=", 1))
spark = builder.getOrCreate()
deltaarrow.spark.register(spark)
"""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}
_SECONDS = 300

SPECULATING = {
    "executor_memory": "512m",
    "speculation": "true",
    "speculation_quantile": "0.5",
    "speculation_multiplier": "1.1",
    "speculation_interval": "100ms",
    "speculation_minTaskRuntime": "500ms",
}
"""Settings of a `SparkProcess` on a `StandaloneCluster` that copies slow tasks soon."""


class StandaloneCluster:
    """A master and two workers of one core on loopback, as two hosts, in a ``with`` block.

    Spark starts no speculative copy of a task on the host that runs it, and a ``local-cluster`` is one host.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]

    @property
    def master(self) -> str:
        """What a driver connects to."""
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        """Begin; drivers wait until the workers are there."""
        self._start("127.0.0.1", "master.Master", "--port", str(self._port))
        for host in ("127.0.0.1", "127.0.0.2"):
            folder = str(self._folder / f"work-{host}")
            self._start(host, "worker.Worker", "--cores", "1", "-m", "1g", "-d", folder, self.master)
        return self

    def _start(self, host: str, name: str, *arguments: str) -> None:
        import pyspark

        command = [str(Path(pyspark.__path__[0]) / "bin/spark-class"), f"org.apache.spark.deploy.{name}"]
        with (self._folder / f"{name}-{host}.txt").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    [*command, "--host", host, "--webui-port", "0", *arguments],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=os.environ | {"SPARK_LOCAL_IP": host},
                    start_new_session=True,
                )
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of it, workers first: they end their executors."""
        for process in reversed(self._processes):
            process.terminate()
            process.wait()


class SparkProcess:
    """Runs a script in a ``with`` block, whose end is its end.

    Args:
        script: what follows on the session.
        folder: an empty folder for the table (``table``), for marks and for what Spark keeps.
        settings: of the session, with ``_`` for dots; ``master`` or, for Spark Connect, ``remote`` is one.
    """

    def __init__(self, script: str, folder: Path, **settings: str) -> None:
        self.table, self.marks = folder / "table", folder / "marks"
        self.marks.mkdir(exist_ok=True)
        self._script = folder / "script.py"
        self._script.write_text(_PREAMBLE + script)
        self._log = folder / "log.txt"
        named = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
        self._settings = {**_SETTINGS, "spark.local.dir": str(folder), **named}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
            (pytest.fail if os.environ.get("CI") else pytest.skip)("Spark needs a Java runtime (JDK 17)")
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self.marks.parent / "work"),
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }
        settings = [f"{name}={value}" for name, value in self._settings.items()]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(self._script), str(self.table), str(self.marks), *settings],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=self.marks.parent,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End whatever is left of it."""
        self.kill()

    @property
    def log(self) -> str:
        """What it has said so far, the last of it."""
        return self._log.read_text(errors="replace")[-5000:]

    def finish(self) -> None:
        """Wait until the script is through; it must not fail."""
        assert self._process is not None
        assert self._process.wait(_SECONDS) == 0, self.log

    def wait_for(self, name: str) -> None:
        """Wait until the script has left a mark."""
        assert self._process is not None
        end = time.monotonic() + _SECONDS
        while not (self.marks / name).exists():
            assert self._process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.05)

    def kill(self) -> None:
        """End driver and JVM at once, by the signal that nothing can be done about.

        Workers in Python are in groups of their own, and end when the JVM does.
        """
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
