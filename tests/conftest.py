"""Fixtures and rules for all tests: the Spark session on demand, and which tests CI may skip."""

import atexit
import gc
import os
import shutil
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.support.examples import examples
from tests.support.spark import spark

__all__ = ["spark"]

# Tests start many processes, Spark's Python among them. None should have to compile what it imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests flush files to the disk thousands of times, which takes no time in memory.
_IN_MEMORY, _BYTES_NEEDED = "/dev/shm", 4 << 30
if os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free >= _BYTES_NEEDED:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _IN_MEMORY)

settings.register_profile("everyday", settings.default, max_examples=examples(30))
settings.load_profile("everyday")

ALLOWED_SKIPS = ("corpus absent",)
"""Reasons (their beginnings) that a skip may have where the environment variable CI is set."""


WITH_SPARK = (
    "tests/spark/",
    "tests/benchmarks/test_smoke.py::test_engines_on_spark",
    "tests/pipeline/test_pipeline.py",
    "tests/pipeline/test_pipeline_command.py",
    "tests/spark_sql/test_conditions_everywhere.py::test_spark_finds",
    "tests/spark_sql/test_conditions_everywhere.py::test_filters_find_what_spark_finds",
    "tests/transaction/test_processes.py::test_spark",
    "tests/transaction/test_removal_beside_spark.py",
)
"""Beginnings of the names of the tests with Spark. One process runs them all, so that there is one session.

Of a file with few such tests it runs these alone, as it is busy until the end."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Collect without the garbage collector, which would go over the tests found so far again and again."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to collect garbage, but not among the tests and modules: they are many, and stay to the end.

    Only where the interpreter ends do libraries look whether all of theirs is freed.
    """
    gc.freeze()
    gc.enable()
    atexit.register(gc.unfreeze)


class _Examples:
    """Leaves modules without examples to other collectors: to search all their docstrings takes seconds."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[Any], list[Any]]:
        found = yield
        is_shown = any(isinstance(each, DoctestModule) for each in found) and ">>> " in file_path.read_text()
        return [each for each in found if is_shown or not isinstance(each, DoctestModule)]


def pytest_configure(config: pytest.Config) -> None:
    """Let the rule hold outside this folder, too."""
    config.pluginmanager.register(_Examples())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses Spark and begin with it; leave the slow tests out, unless ``-m`` says what to run."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.get_closest_marker("spark") and not item.nodeid.startswith(WITH_SPARK):
            raise pytest.UsageError(f"{item.nodeid} uses Spark: name it in tests/conftest.py")
    items.sort(key=lambda item: not item.nodeid.startswith(WITH_SPARK))
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


class _ByFile(LoadFileScheduling):
    """Gives a process all tests with Spark, and of the others a file at a time, as fixtures are made for."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(WITH_SPARK) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    """Schedule by files."""
    return _ByFile(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the one line that a reader of a CI run looks for, and every skip that is not allowed there."""
    stats = terminalreporter.stats
    passed, skipped, expected = (len(stats.get(kind, [])) for kind in ("passed", "skipped", "xfailed"))
    terminalreporter.write_line(f"passed {passed} / skipped {skipped} / expected failures {expected}")
    for where, reason in _barred_skips(stats.get("skipped", [])):
        terminalreporter.write_line(f"must not be skipped in CI: {where}: {reason}", red=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip other than the allowed ones fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    barred = _barred_skips(reporter.stats.get("skipped", [])) if reporter else []
    if os.environ.get("CI") and barred and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _barred_skips(reports: list[pytest.TestReport]) -> list[tuple[str, str]]:
    """Where and why tests were skipped for a reason that CI does not accept."""
    if not os.environ.get("CI"):
        return []
    reasons = [(report.nodeid, report.longrepr[2].removeprefix("Skipped: ")) for report in reports]
    return [(where, reason) for where, reason in reasons if not reason.startswith(ALLOWED_SKIPS)]
