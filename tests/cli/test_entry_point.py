"""The script without its extra names the command that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_script_without_its_extra_names_the_pip_line(missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from deltaarrow.cli.main import main; main()"
    found = subprocess.run([sys.executable, "-c", code, "history", "t"], capture_output=True, text=True)
    assert found.returncode == 1
    assert found.stderr == f"error: {missing} is not installed; run: pip install 'deltaarrow[cli]'\n"
    assert found.stdout == ""


def test_script_runs_as_a_program():
    code = "import sys; sys.argv = ['deltaarrow', '--version']; from deltaarrow.cli.main import main; main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip()
