"""A plugin of pytest under which `delta.tables` is `deltaarrow.spark.tables`.

Tests write and read with Spark, delta-spark's jar and its catalog. `delta.testing.utils` of the suite starts
Spark for each class with a jar that was built; here one session with the installed delta-spark serves all.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import types
import unittest
from pathlib import Path

import pyspark.sql.classic.column
import pyspark.sql.column

import deltaarrow.spark.tables
from tests.support.spark import running_spark

_session = contextlib.ExitStack()


class DeltaTestCase(unittest.TestCase):
    """A session, and the path of a table that is not there yet."""

    @classmethod
    def setUpClass(cls):
        if not hasattr(DeltaTestCase, "spark"):
            folder = _session.enter_context(tempfile.TemporaryDirectory())
            DeltaTestCase.spark = _session.enter_context(running_spark(Path(folder)))

    def setUp(self):
        self.tempPath = tempfile.mkdtemp()
        self.tempFile = str(Path(self.tempPath, "tempFile"))
        self.spark.conf.set("spark.deltaarrow.catalog", str(Path(self.tempPath, "catalog")))

    def tearDown(self):
        shutil.rmtree(self.tempPath)

    @contextlib.contextmanager
    def table(self, *names):
        """Drop tables of Spark's catalog at the end."""
        try:
            yield
        finally:
            for name in names:
                self.spark.sql(f"DROP TABLE IF EXISTS {name}")


def pytest_unconfigure():
    """Stop the session."""
    _session.close()


testing = types.ModuleType("delta.testing")
testing.utils = types.ModuleType("delta.testing.utils")
testing.utils.DeltaTestCase = DeltaTestCase
sys.modules |= {
    "delta.testing": testing,
    "delta.testing.utils": testing.utils,
}
if "DELTAARROW_UNCHANGED" not in os.environ:
    sys.modules["delta.tables"] = deltaarrow.spark.tables
if not hasattr(pyspark.sql.column, "_to_seq"):
    # A name of older releases, which one test imports.
    pyspark.sql.column._to_seq = pyspark.sql.classic.column._to_seq
