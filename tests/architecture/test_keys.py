"""Names that tables store are each spelled in one place."""

import ast
import re

import pytest

from tests.support.modules import modules

PLACES = {
    "deltaarrow.actions.domain_names",
    "deltaarrow.features.properties",
    "deltaarrow.features.property_names",
    "deltaarrow.schema.metadata_keys",
}
"""The modules that may spell a name."""

OTHER_KEYS = {"CURRENT_DEFAULT", "EXISTS_DEFAULT", "__COLLATIONS", "__CHAR_VARCHAR_TYPE_STRING"}


def texts(nodes):
    """The texts of a module, but for docstrings and the parts of longer messages."""
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    left_out = {
        id(node.value)
        for parent in nodes
        if isinstance(parent, described) or hasattr(parent, "body")
        for node in (parent.body if isinstance(parent.body, list) else [])
        if isinstance(node, ast.Expr)
    }
    left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node


def _spells_a_key(node):
    return (node.value.startswith("delta.") and " " not in node.value) or node.value in OTHER_KEYS


def _spelled_keys(nodes):
    """The nodes that spell a name of the protocol, also at the beginning of an f-string."""
    composed = [node.values[0] for node in nodes if isinstance(node, ast.JoinedStr) and node.values]
    # delta.{path} is a table in SQL.
    first = [
        each for each in composed if isinstance(each, ast.Constant) and re.match(r"delta\.\w", each.value)
    ]
    return [node for node in [*texts(nodes), *first] if _spells_a_key(node)]


def _compared_with_true(nodes):
    """The comparisons of a property, or of a text in lower case, with ``"true"``."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            others = " ".join(ast.unparse(side) for side in sides if not _is_true(side))
            if any(map(_is_true, sides)) and re.search(
                r"configuration|properties|\.(lower|casefold)\(\)", others
            ):
                yield node


def _is_true(node):
    return isinstance(node, ast.Constant) and node.value == "true"


def test_names_in_delta_are_spelled_in_one_place():
    found = [
        f"{module.name}:{node.lineno}: {node.value}"
        for module in modules()
        if module.name not in PLACES
        for node in _spelled_keys(module.nodes)
    ]
    assert found == [], "name them in deltaarrow.schema.metadata_keys, features.properties or actions.names"


@pytest.mark.parametrize(
    "code",
    [
        'configuration.get("delta.appendOnly")',
        'f"delta.feature.{name}"',
        'metadata = {"CURRENT_DEFAULT": text}',
        'KEY = "delta.columnMapping.id"',
    ],
)
def test_a_spelled_key_is_found(code):
    assert len(_spelled_keys([*ast.walk(ast.parse(code))])) == 1


def test_booleans_of_properties_are_parsed_by_their_record():
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        if module.name != "deltaarrow.features.property"
        for node in _compared_with_true(module.nodes)
        if "external" not in ast.unparse(node)  # a setting of DuckDB's
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'configuration["x"] == "true"',
        'text.lower() == "true"',
        '"true" == text.lower()',
        'properties.get(x) != "true"',
    ],
)
def test_a_comparison_of_a_boolean_is_found(code):
    assert len([*_compared_with_true(ast.walk(ast.parse(code)))]) == 1
