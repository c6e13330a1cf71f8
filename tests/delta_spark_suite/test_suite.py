"""The harness of delta-spark's own tests, and the record of what they do."""

import pytest

from tests.delta_spark_suite.suite import FILES, OUTCOMES, TESTS, run_files
from tests.support.modules import ROOT
from tests.support.suite_outcomes import compare, read_outcomes

SUITE = """
import unittest
from pyspark.sql.column import _to_seq
from delta.tables import DeltaTable
from delta.testing.utils import DeltaTestCase


class Tests(unittest.TestCase):
    def test_a_table_is_ours(self):
        assert DeltaTable.__module__ == "deltaarrow.spark.tables.delta_table"
        assert callable(_to_seq) and issubclass(DeltaTestCase, unittest.TestCase)

    def test_failure(self):
        raise ValueError
"""


def test_a_suite_runs_with_the_import_changed(tmp_path):
    pytest.importorskip("pyspark")
    folder = tmp_path / TESTS
    folder.mkdir(parents=True)
    (folder / "test_some.py").write_text(SUITE)
    passed, output = run_files(tmp_path, ["test_some"])
    assert passed == {"test_some": {"test_a_table_is_ours": True, "test_failure": False}}, output


@pytest.mark.parametrize("name", FILES)
def test_every_failing_test_has_a_reason(name):
    recorded = read_outcomes(OUTCOMES / f"{name}.toml")
    reasons = [each for tests in recorded.reasons.values() for each in tests.items()]
    assert len(dict(reasons)) == len(reasons)
    assert [test for test, reason in reasons if len(reason.split()) < 3] == []
    counts, lines = compare(name, dict.fromkeys(dict(reasons), False), recorded)
    assert not lines
    assert counts[1:] == recorded.counts[1:]


def test_the_page_has_the_recorded_counts():
    page = (ROOT / "docs" / "from-delta-spark.md").read_text(encoding="utf-8")
    [counts] = [read_outcomes(OUTCOMES / f"{name}.toml").counts for name in FILES]
    assert f"Of {counts.public} tests of public behaviour" in page
    assert f"{counts.passed} pass" in page
    assert f"In {counts.differs},\ndeltaarrow differs" in page
