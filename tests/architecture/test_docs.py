"""README.md and the pages of docs/: their code runs, their commands work, their tables match the code."""

import re
import shlex
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from typer.testing import CliRunner

import deltaarrow
from deltaarrow import errors
from deltaarrow.cli.app import app
from deltaarrow.features import render_feature_table, render_property_table
from deltaarrow.spark_sql import render_function_tables
from tests.support.modules import ROOT
from tests.support.sail import read_record, render_tables

TAKES_SPARK = "deltaarrow pipeline "
"""How commands begin that take Spark for minutes; `tests/pipeline` runs what they do, on fewer rows."""
SMALL = {"docs/dask.md": "dask", "docs/datafusion.md": "datafusion", "docs/ibis.md": "ibis"}
"""Pages of libraries that the package itself does not use; the extra `test` installs these."""
LARGE = {
    "docs/daft.md": "daft",
    "docs/hugging-face.md": "datasets",
    "docs/ray.md": "ray",
    "docs/torch.md": "torch",
}
"""The same, in the slow suite, where the extra `ecosystem` is installed."""
INSTALL = [
    "pip install .",
    'pip install ".[cli,polars]" && deltaarrow demo',
    'pip install ".[test]" && pytest',
]
NOT_RUN = {"py", "python3", "pycon", "bash", "console", "shell"}
"""Languages of code blocks that no test would run; write ``python`` or ``sh``."""
SPARK = 'python title="Spark"'
"""How the blocks begin that `tests/spark/test_data_source.py` runs."""

TIMES = {
    "Open one partition of a table of a million files, cold": (
        "adds_1m_commits_20_since_classic_checkpoint_one_partition"
    ),
    "200 appends of 100 rows, by path, cold": "appends_200_of_rows_100_by_path",
    "Import the package and open a small table": "import_and_open_adds_1_commits_1",
}
"""The rows of README.md that have times, and the cases of the benchmarks that they are taken from."""
ENGINES = ["deltaarrow", "deltalake", "delta-spark", "duckdb 1.5.5, delta extension"]
"""The columns of that table, by the names of the benchmarks."""


@dataclass(frozen=True)
class Block:
    """A code block: its language, its text, and the lines before it."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Page:
    """A Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        return [
            Block(found[1], found[2], self.text.count("\n", 0, found.start(2)))
            for found in re.finditer(r"^```(\S[^\n]*)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)
        ]

    def generated(self, part: str) -> str:
        """What is between the comments that name a generated part."""
        found = re.search(rf"<!-- {part}: .*? -->\n(.*?)<!-- end of {part} -->", self.text, re.DOTALL)
        assert found is not None
        return found[1].strip()


README = Page(ROOT / "README.md")
PAGES = [README, *(Page(path) for path in sorted((ROOT / "docs").rglob("*.md")))]
LINKS = [
    (page, target)
    for page in PAGES
    for target in sorted(set(re.findall(r"\]\((?!https?:)([^)]+)\)", page.text)))
]


def reference(name: str) -> Page:
    return Page(ROOT / "docs" / "reference" / name)


def as_parameter(page: Page):
    """The page, slow if it needs a large library; what libraries warn of among themselves is their affair."""
    marks = [pytest.mark.filterwarnings("ignore")] if page.name in SMALL | LARGE else []
    return pytest.param(page, id=page.name, marks=[pytest.mark.slow, *marks] if page.name in LARGE else marks)


@pytest.mark.parametrize("page", [as_parameter(page) for page in PAGES if page.blocks])
def test_blocks_run_from_top_to_bottom(page, tmp_path, monkeypatch):
    if page.name in LARGE:
        monkeypatch.setenv("HOME", str(tmp_path))  # some leave caches and tokens in it
    if library := (SMALL | LARGE).get(page.name):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    commands, shown = [], []
    for block in page.blocks:
        assert block.language not in NOT_RUN
        if block.language == "python":
            # The line numbers of a failure are those of the page.
            exec(compile("\n" * block.line + block.text, str(page.path), "exec"), namespace)
        elif block.language == "text":
            shown.append(block.text)
        elif block.language == "sh":
            found = [command for command in block.text.splitlines() if command.startswith("deltaarrow ")]
            commands += [command for command in found if not command.startswith(TAKES_SPARK)]
    printed = ""
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{command}: {result.output}"
        assert result.stdout.strip(), command
        printed += result.stdout
    if commands:
        for text in shown:
            # The first line names the folder, and the size of files is a matter of versions.
            assert _without_sizes(text.partition("\n")[2]) in _without_sizes(printed)


def _without_sizes(text):
    return re.sub(r"\d[\d.]* k?B\b", "# B", text)


def test_the_pages_show_commands_of_the_project():
    found = [block for page in PAGES for block in page.blocks if block.language == "sh"]
    assert any(line.startswith("deltaarrow ") for block in found for line in block.text.splitlines())


def test_large_libraries_are_those_of_their_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {re.split(r"[^\w-]", each)[0] for each in extras["ecosystem"]} >= set(LARGE.values())
    assert set(SMALL | LARGE) <= {page.name for page in PAGES}


def test_only_the_page_of_spark_has_blocks_for_spark():
    assert {page.name for page in PAGES for block in page.blocks if block.language == SPARK} == {
        "docs/spark.md"
    }


def test_readme_is_read_at_one_sitting():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 200


def test_commands_of_the_set_up_are_written_exactly():
    found = [line for block in README.blocks if block.language == "sh" for line in block.text.splitlines()]
    assert [line for line in found if line.startswith("pip")] == INSTALL


def test_feature_table_is_that_of_the_registry():
    assert reference("features.md").generated("features") == render_feature_table().strip()


def test_property_table_is_that_of_the_records():
    assert reference("properties.md").generated("properties") == render_property_table().strip()


def test_expressions_are_those_that_are_understood():
    assert reference("sql-functions.md").generated("expressions") == render_function_tables().strip()


def test_counts_of_scripts_are_those_that_were_recorded():
    record = read_record()
    assert reference("sql-scripts.md").generated("scripts") == render_tables(record)
    for folder, scripts in record["scripts"].items():
        assert [name for name in scripts if not (ROOT / "sql" / folder / f"{name}.sql").exists()] == []


def test_the_page_of_the_api_has_every_public_name():
    found = re.findall(r"^::: deltaarrow\.(\w+)$", reference("api.md").text, re.MULTILINE)
    assert sorted(found) == deltaarrow.__all__


@pytest.mark.parametrize(("row", "case"), TIMES.items())
def test_times_of_the_readme_are_those_of_the_benchmarks(row, case):
    """Up to a half: a benchmark that is run again gives other numbers, and need not change the README."""
    results = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^\| \*\*{case}\*\* .*\n((?:\| [^*].*\n)+)", results, re.MULTILINE)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in found[1].splitlines()]
    cold = {engine: float(seconds) for engine, seconds, *_ in rows}
    [shown] = re.findall(rf"^\| {re.escape(row)} \|(.*)\|$", README.text, re.MULTILINE)
    times = dict(zip(ENGINES, (cell.strip() for cell in shown.split("|")), strict=True))
    for engine, time in times.items():
        if time != "not compared":
            assert float(time.removesuffix(" s")) == pytest.approx(cold[engine], rel=0.5)


def test_the_page_of_errors_has_every_error():
    page = Page(ROOT / "docs" / "errors-and-secrets.md")
    shown = {name for block in page.blocks for name in re.findall(r"[├└]── (\w+) ", block.text)}
    assert sorted(shown) == sorted(set(errors.__all__) - {"DeltaError", "DeltaWarning"})


@pytest.mark.parametrize(("page", "target"), LINKS, ids=lambda each: getattr(each, "name", each))
def test_links_lead_somewhere(page, target):
    name, _, anchor = target.partition("#")
    path = page.path.parent / name if name else page.path
    assert path.exists()
    if anchor:
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
