"""No file of the project names a machine's folders or a package registry."""

import re

from tests.support.modules import ROOT

PLACES = ("deltaarrow", "docs", "sql", "tests", "benchmarks", ".ci")
MACHINE = re.compile(r"(?<![\w.$}])/(home|Users|root|work)/\w")
REGISTRY = re.compile(r"pypi\.(org|python)|pythonhosted\.org|maven\.(org|apache)|npmjs\.")
FOUND = sorted(
    path
    for place in (*PLACES, *(item.name for item in ROOT.iterdir() if item.is_file() and item.name != ".git"))
    for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    if path.is_file() and "__pycache__" not in path.parts
)


def test_names_no_machine_and_no_registry():
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in FOUND}
    assert [
        f"{path.relative_to(ROOT)}: {line}"
        for path, text in texts.items()
        if MACHINE.search(text) or REGISTRY.search(text)
        for line in text.splitlines()
        if MACHINE.search(line) or REGISTRY.search(line)
    ] == []
