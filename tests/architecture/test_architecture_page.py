"""The pages about the code are true: layers, modules, functions, folders and links.

``python -m tests.architecture.test_architecture_page`` rewrites the drawing and the table of the layers in
``docs/architecture.md`` from `LAYERS` and the docstrings.
"""

import ast
import itertools
import re

import pytest

from tests.architecture.test_layers import LAYERS
from tests.support.modules import PACKAGE, ROOT, modules

PAGE = ROOT / "docs" / "architecture.md"
PAGES = (PAGE, ROOT / "docs" / "testing.md", ROOT / "docs" / "benchmarks.md", ROOT / "CONTRIBUTING.md")
BEGIN = "<!-- layers: written by `python -m tests.architecture.test_architecture_page` -->"
END = "<!-- end of layers -->"
BETWEEN = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)
_HEADINGS = """
Data Files; Deletion Vector Files; Change Data Files; Delta Log Entries; Checkpoints; Sidecar Files
Log Compaction Files; Last Checkpoint File; Version Checksum File; Actions; Change Metadata
Add File and Remove File; Add CDC File; Transaction Identifiers; Protocol Evolution
Commit Provenance Information; Domain Metadata; Sidecar File Information; Checkpoint Metadata
Action Reconciliation; Table Features; Column Mapping; Deletion Vectors; Deletion Vector Descriptor Schema
Catalog-managed tables; Iceberg Compatibility V1; Iceberg Compatibility V2; Iceberg Compatibility V3
Timestamp without timezone; Void columns; V2 Checkpoint Table Feature; Row Tracking; VACUUM Protocol Check
Clustered Table; Variant Data Type; Variant Shredding; Type Widening; In-Commit Timestamps
Materialize Partition Columns; Checkpoint Protection; Consistency Between Table Metadata and Data Files
V1 Spec; V2 Spec; Checkpoint Naming Scheme; Metadata Cleanup; Append-only Tables; Column Invariants
CHECK Constraints; Generated Columns; Default Columns; Identity Columns; Writer Version Requirements
Reader Version Requirements; Valid Feature Names; Deletion Vector Format
Deletion Vector File Storage Format; Per-file Statistics; Partition Value Serialization
Schema Serialization Format; Column Metadata; Checkpoint Schema; JSON checksum
"""
"""The chapters of the protocol that say something of tables, by their headings."""
PROTOCOL = [name for line in _HEADINGS.split("\n") for name in line.split("; ") if name]
TESTS_OF_EVERYTHING = {"support"}
"""Folders of tests/ beside those that test one thing."""


def rendered_layers() -> str:
    """The drawing of the layers and the table of them, highest first, in Markdown."""
    found = {module.name: ast.get_docstring(module.tree) or "" for module in modules()}
    rows = []
    for number, parts in reversed(list(enumerate(LAYERS))):
        # A part whose name is kept free for later has no module.
        there = [part for part in parts if f"{PACKAGE}.{part}" in found]
        if there:
            rows.append((number, there))
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    L{number}["{", ".join(parts)}"]' for number, parts in rows]
    lines += [f"    L{above} --> L{below}" for (above, _), (below, _) in itertools.pairwise(rows)]
    lines += ["```", "", "| layer | part | what it holds |", "|---|---|---|"]
    for number, parts in rows:
        lines += [
            f"| {number} | `{_path(part)}` | {_first_sentence(found[f'{PACKAGE}.{part}'])} |"
            for part in parts
        ]
    return "\n" + "\n".join(lines) + "\n\n"


def _path(part: str) -> str:
    return f"{part}.py" if (ROOT / PACKAGE / f"{part}.py").exists() else f"{part}/"


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0].replace("``", "`")


def _spans(text: str) -> list[str]:
    """The code in the running text of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def _exists(path: str) -> bool:
    """Whether a path is there, in the project or in the package."""
    return any((place / path).exists() for place in (ROOT, ROOT / PACKAGE))


def _defined(tree: ast.Module) -> set[str]:
    """The functions and classes of a module, and the methods of its classes with the name of the class."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return names


def test_the_layers_are_those_of_the_code():
    found = BETWEEN.search(PAGE.read_text(encoding="utf-8"))
    assert found[0] == rendered_layers()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_on_a_page_exists(page):
    spans = _spans(page.read_text(encoding="utf-8"))
    paths = [span for span in spans if re.fullmatch(r"[\w./-]+(\.(py|md|sql|json|toml|svg)|/)", span)]
    assert paths
    assert [path for path in paths if not _exists(path)] == []


def test_functions_are_in_the_files_beside_them():
    """In the tables of the ways that data go: ``| 1 | `file` | `function`, `Class.method` | ... |``."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ \| `([\w/]+\.py)` \| (.*?) \| .+ \|$", text, re.MULTILINE)
    assert len(rows) > 40
    wrong = []
    for path, names in rows:
        tree = ast.parse((ROOT / PACKAGE / path).read_text(encoding="utf-8"))
        wrong += [f"{path}: {name}" for name in _spans(names) if name not in _defined(tree)]
    assert wrong == []


def _chapters() -> dict[str, list[str]]:
    """The files of each chapter of the protocol, in the table of the page."""
    table = PAGE.read_text(encoding="utf-8").partition("\n| chapter | files |\n")[2].partition("\n\n")[0]
    cells = [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]
    return {name: _spans(files) for names, files in cells for name in names.split("; ")}


def test_every_chapter_of_the_protocol_has_files():
    assert [name for name in PROTOCOL if name not in _chapters()] == []
    assert [name for name, files in _chapters().items() if not files] == []


def test_a_chapter_begins_where_a_module_says_so():
    """The first line of a module may name a chapter; then the table lists the module for this chapter."""
    chapters, missed = _chapters(), []
    for module in modules():
        first = " ".join((ast.get_docstring(module.tree) or "").split("\n\n")[0].split())
        path = f"{module.name.removeprefix(f'{PACKAGE}.').replace('.', '/')}.py"
        named = re.findall(r'"([^"]+)"|\*([^*]+)\*', first) if re.search("chapter|PROTOCOL", first) else []
        for name in (quoted or starred for quoted, starred in named):
            if name in chapters and not module.is_package and path not in chapters[name]:
                missed.append(f"{name}: {path}")
    assert missed == []


def test_every_folder_of_tests_is_explained():
    page = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    folders = {path.parent.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in sorted(folders - TESTS_OF_EVERYTHING) if f"`tests/{name}/`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


if __name__ == "__main__":
    anew = rendered_layers()
    PAGE.write_text(BETWEEN.sub(lambda _: anew, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
