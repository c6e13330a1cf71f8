"""Tests pass settings as arguments; none replaces a constant of the package."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONSTANT = re.compile(r"_[A-Z]\w*|[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
"""A name of a constant, or of a private class."""


def test_no_constant_is_replaced():
    texts = {path.relative_to(TESTS): path.read_text() for path in sorted(TESTS.rglob("*.py"))}
    assert [(str(path), each) for path, text in texts.items() for each in _patched_constants(text)] == []


@pytest.mark.parametrize(
    "call",
    [
        'monkeypatch.setattr(replay, "_SMALL", -1)',
        'patch.setattr("deltaarrow.log.replay._SMALL", -1)',
        'patch.setattr(\n    parsing,\n    "MAX_SIZE",\n    100,\n)',
        'setattr(database, "_Pool", Pool)',
        'mock.patch("deltaarrow.log.replay._SMALL", -1)',
        'mock.patch.object(replay, "_SMALL", -1)',
    ],
)
def test_a_replaced_constant_is_found(call):
    assert len([*_patched_constants(call)]) == 1


def _patched_constants(text):
    if not re.search(r"setattr|patch|object\(", text):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called not in ("setattr", "patch", "object"):
            continue
        texts = [arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)]
        for name in (text for text in texts if isinstance(text, str)):
            if CONSTANT.fullmatch(name.rpartition(".")[2]):
                yield f"line {node.lineno}: {name}"
