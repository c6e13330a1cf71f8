"""The property tests of every day, with four times the examples."""

import os
import subprocess
import sys

import pytest

from tests.support.modules import ROOT

FOLDERS = sorted(
    {
        path.relative_to(ROOT / "tests").parts[0]
        for path in (ROOT / "tests").rglob("test_*.py")
        if "from hypothesis import" in path.read_text()
    }
    - {"spark", "support"}
)


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_properties_hold_in_more_examples(folder: str) -> None:
    chosen = ["-n", "0", "-q", "-m", "hypothesis and not slow and not spark", f"tests/{folder}"]
    more = os.environ | {"DELTAARROW_TEST_EXAMPLES": "4"}
    command = [sys.executable, "-m", "pytest", *chosen]
    done = subprocess.run(command, cwd=ROOT, env=more, capture_output=True, text=True, check=False)
    # Some folders draw examples within tests of their own numbers alone.
    expected = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert done.returncode in expected, done.stdout[-5000:]
