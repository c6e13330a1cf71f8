"""The registry's claims about reading and writing are backed by tests with the feature's marker."""

import ast
from functools import cache

from deltaarrow.features import FEATURES, Support
from tests.support.modules import ROOT

NOT_OF_SPARK = {
    "catalogManaged",
    "coordinatedCommits-preview",
    "icebergWriterCompatV1",
    "icebergWriterCompatV3",
    "redirectReaderWriter-preview",
    "redirectWriterOnly-preview",
}
"""Features that need a catalog, a coordinator or another writer: their tables are written by hand."""


def features_marked(tree: ast.AST) -> set[str]:
    """The names in ``pytest.mark.feature("name")`` under a node."""
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", "") == "feature"
        and ast.unparse(node.func) == "pytest.mark.feature"
    }


@cache
def marked_tests() -> dict[str, set[str]]:
    """Feature -> the tests whose marker, or that of their module, names it."""
    found: dict[str, set[str]] = {}
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.feature" not in text:
            continue
        module = ast.parse(text)
        of_all = set()
        for node in module.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
                of_all = features_marked(node)
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named = of_all.union(*map(features_marked, node.decorator_list))
                for feature in named:
                    found.setdefault(feature, set()).add(f"{file.relative_to(ROOT)}::{node.name}")
    return found


def test_markers_name_features_of_the_registry():
    assert set(marked_tests()) <= set(FEATURES)


def test_every_feature_is_read_or_refused_in_a_test():
    assert set(FEATURES) - set(marked_tests()) == set()


def test_every_feature_that_is_read_is_read_in_tables_of_spark():
    """But for those that delta-spark does not make by itself."""
    read = {name for name, feature in FEATURES.items() if feature.read is not Support.NO}
    by_spark = {
        name for name, tests in marked_tests().items() if any(t.startswith("tests/spark/") for t in tests)
    }
    assert read - by_spark == NOT_OF_SPARK


def test_every_feature_that_is_written_is_written_in_tables_that_spark_reads():
    modules = (
        "tests/spark/test_spark_reads.py::",
        "tests/spark/test_writing_features.py::",
        "tests/spark/test_writing_column_mapping.py::",
        "tests/spark/test_writing_constraints.py::",
        "tests/spark/test_altering.py::",
        "tests/spark/test_writing_iceberg_compat.py::",
        "tests/spark/test_writing_row_tracking.py::",
        "tests/spark/test_writing_identity.py::",
        "tests/spark/test_writing_clustering.py::",
        "tests/spark/test_writing_variants.py::",
    )
    written = {name for name, feature in FEATURES.items() if feature.append is Support.YES}
    tested = {
        name for name, tests in marked_tests().items() if any(test.startswith(modules) for test in tests)
    }
    assert written == tested


def test_every_feature_whose_rows_are_changed_has_them_changed_in_a_test():
    module = "tests/operations/dml/test_features.py::"
    changed = {name for name, feature in FEATURES.items() if feature.change is not Support.NO}
    tested = {
        name for name, tests in marked_tests().items() if any(test.startswith(module) for test in tests)
    }
    assert changed == tested


def test_what_is_refused_is_refused_by_name_in_a_test():
    """Refusals of readers are all in the tests of the gates."""
    refused = {name for name, feature in FEATURES.items() if feature.read is not Support.YES}
    gates = "tests/features/test_gates.py::"
    tested = {name for name, tests in marked_tests().items() if any(test.startswith(gates) for test in tests)}
    assert tested == refused
