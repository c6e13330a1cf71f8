"""Names that tables store are each spelled in one place."""

import ast

from tests.support.modules import modules

PLACES = {
    "deltaarrow.actions.names",
    "deltaarrow.features.properties",
    "deltaarrow.features.property_names",
    "deltaarrow.schema.keys",
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


def test_names_in_delta_are_spelled_in_one_place():
    found = [
        f"{module.name}:{node.lineno}: {node.value}"
        for module in modules()
        if module.name not in PLACES
        for node in texts(module.nodes)
        if (node.value.startswith("delta.") and " " not in node.value) or node.value in OTHER_KEYS
    ]
    assert not found, "name them in deltaarrow.schema.keys, features.properties or actions.names"


def test_booleans_of_properties_are_parsed_by_their_record():
    found = [
        f"{module.name}:{node.lineno}"
        for module in modules()
        for node in module.nodes
        if isinstance(node, ast.Compare)
        and any(isinstance(each, ast.Constant) and each.value == "true" for each in node.comparators)
        and module.name != "deltaarrow.features.property"
        and ("configuration" in (left := ast.unparse(node.left)) or ".lower()" in left)
        and "external" not in left  # a setting of DuckDB's
    ]
    assert not found
