"""deltalake's own tests do what is recorded; the rules of the record."""

import pytest

from tests.deltalake_suite.suite import (
    OUTCOMES,
    list_files,
    make_environment,
    make_suite,
    render_table,
    run_files,
)
from tests.support.modules import ROOT
from tests.support.suite_outcomes import Counts, Outcomes, compare, read_outcomes

FILES = sorted(path.stem for path in OUTCOMES.glob("*.toml"))
REASONS = {"private": {"test_b": "why"}, "spark": {}, "differs": {"test_c[2]": "why"}}
REASONS = {"private": {"test_b": "why"}, "spark": {}, "differs": {"test_c[2]": "why"}}
RECORDED = Outcomes(Counts(5, 2, 0, 1), REASONS)


@pytest.mark.parametrize("name", FILES)
def test_every_failing_test_has_a_reason(name):
    reasons = [
        each for tests in read_outcomes(OUTCOMES / f"{name}.toml").reasons.values() for each in tests.items()
    ]
    assert len(dict(reasons)) == len(reasons)
    assert [test for test, reason in reasons if len(reason.split()) < 3] == []


def test_an_unexpected_failure_or_pass_or_name_is_told():
    passed = {"test_a": True, "test_b[1]": False, "test_b[2]": False, "test_c[1]": True, "test_c[2]": False}
    assert compare("file", passed, RECORDED) == (RECORDED.counts, [])
    _, lines = compare("file", {"test_a": False, "test_b": True, "test_c[1]": True}, RECORDED)
    assert lines == [
        "file: test_a failed, recorded: passes",
        "file: test_b passed, recorded: private",
        "file: there is no test test_c[2]",
    ]


def test_the_page_has_the_recorded_counts():
    page = (ROOT / "docs" / "from-deltalake.md").read_text(encoding="utf-8")
    assert render_table() in page


@pytest.mark.slow
def test_tests_of_deltalake_do_what_is_recorded(tmp_path):
    python, suite = make_environment(tmp_path), make_suite(tmp_path)
    passed, output = run_files(python, suite, list_files(suite), tmp_path / "report.xml")
    for name, tests in passed.items():
        recorded = read_outcomes(OUTCOMES / f"{name}.toml")
        counts, lines = compare(name, tests, recorded)
        assert not lines, output
        assert counts == recorded.counts
