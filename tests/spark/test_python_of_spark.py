"""The Python that Spark starts, of which a wrong one is an error of one line, and its handler of Ctrl-C."""

import os
import signal
import sys
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from deltaarrow.errors import MissingDependencyError
from deltaarrow.runtime.interrupts import interruptible
from deltaarrow.spark.python_of_spark import ensure_python


@dataclass
class Context:
    """What `ensure_python` asks of a Spark context."""

    pythonExec: str
    conf: dict[str, str] = field(default_factory=dict)
    _python_includes: list[str] = field(default_factory=list)

    def getConf(self) -> dict[str, str]:
        return self.conf


@dataclass
class Session:
    """A session of Spark, or of Spark Connect, which has no context."""

    _sc: Any = None


@pytest.fixture
def program(tmp_path):
    """Make a program that stands for another Python."""

    def make(text):
        path = tmp_path / "python3"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return make


def says(name, **more):
    with pytest.raises(MissingDependencyError) as raised:
        ensure_python(Session(Context(name, **more)))
    message = str(raised.value)
    assert "\n" not in message
    assert message.endswith(
        f"set PYSPARK_PYTHON={sys.executable} in the environment before the session begins"
    )
    return message


def test_the_own_python_is_not_started_again(monkeypatch):
    monkeypatch.setattr("subprocess.run", None)
    ensure_python(Session(Context(sys.executable)))
    ensure_python(Session())


def test_a_python_that_is_not_there():
    assert says("/nowhere/python3").startswith(
        "the Python that Spark starts, /nowhere/python3, is not there;"
    )


def test_a_python_of_another_version(program):
    own = "{}.{}".format(*sys.version_info[:2])
    assert f"is Python 3.6, and this program is Python {own}" in says(program("echo 3.6"))


def test_a_python_without_the_package(program):
    own = "{}.{}".format(*sys.version_info[:2])
    name = program(
        f"echo {own}; echo Traceback >&2; echo \"ModuleNotFoundError: No module named 'x'\" >&2; exit 1"
    )
    assert "cannot run the data source (ModuleNotFoundError: No module named 'x')" in says(name)
    ensure_python(Session(Context(name, conf={"spark.submit.pyFiles": "deltaarrow.zip"})))
    ensure_python(Session(Context(name, _python_includes=["deltaarrow.zip"])))


def test_a_python_like_this_one(program):
    ensure_python(Session(Context(program(f'exec {sys.executable} "$@"'))))


@pytest.mark.spark
def test_ctrl_c_ends_a_query_beside_a_spark_context(spark):
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    came = threading.Event()
    with interruptible(came.set):
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait()
        assert came.wait(60)
