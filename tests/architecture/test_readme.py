"""The README is true: its code runs, its commands are the project's, its table is the registry's."""

import re
import shlex

import pytest
from typer.testing import CliRunner

from deltaarrow.cli.app import app
from deltaarrow.features import render_feature_table, render_property_table
from deltaarrow.spark_sql import render_function_tables
from tests.support.modules import ROOT

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    (found[1], found[2], TEXT.count("\n", 0, found.start(2)))
    for found in re.finditer(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
]
TAKES_SPARK = "deltaarrow pipeline "
"""How commands begin that take Spark for minutes; `tests/pipeline` runs what they do, on fewer rows."""
INSTALL = ['pip install ".[all]" && deltaarrow demo', 'pip install ".[test]" && pytest']


def test_blocks_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    commands, shown = [], []
    for language, text, line in BLOCKS:
        if language == "python":
            # The line numbers of a failure are those of the README.
            exec(compile("\n" * line + text, str(ROOT / "README.md"), "exec"), namespace)
        elif language == "text":
            shown.append(text)
        else:
            assert language == "sh"
            found = [command for command in text.splitlines() if command.startswith("deltaarrow ")]
            commands += [command for command in found if not command.startswith(TAKES_SPARK)]
    assert commands
    printed = ""
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"
        assert result.stdout.strip(), command
        printed += result.stdout
    for text in shown:
        # The first line names the folder, and the size of files is a matter of versions.
        assert _without_sizes(text.partition("\n")[2]) in _without_sizes(printed)


def _without_sizes(text):
    return re.sub(r"\d[\d.]* k?B\b", "# B", text)


def test_commands_of_the_set_up_are_written_exactly():
    found = [line for language, text, _ in BLOCKS if language == "sh" for line in text.splitlines()]
    assert [line for line in found if line.startswith("pip")] == INSTALL


def test_feature_table_is_that_of_the_registry():
    found = re.search(r"<!-- features: .*? -->\n(.*?)<!-- end of features -->", TEXT, re.DOTALL)
    assert found[1].strip() == render_feature_table().strip()


def test_property_table_is_that_of_the_records():
    found = re.search(r"<!-- properties: .*? -->\n(.*?)<!-- end of properties -->", TEXT, re.DOTALL)
    assert found[1].strip() == render_property_table().strip()


def test_expressions_are_those_that_are_understood():
    found = re.search(r"<!-- expressions: .*? -->\n(.*?)<!-- end of expressions -->", TEXT, re.DOTALL)
    assert found[1].strip() == render_function_tables().strip()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT))))
def test_links_lead_somewhere(name):
    assert (ROOT / name).exists()
