"""Every script of ``sql/`` on one node gives the results that it holds."""

import itertools
import re

import pytest

from deltaarrow.errors import DeltaError
from deltaarrow.spark_sql import Words
from deltaarrow.spark_sql.functions.aggregate import AGGREGATES
from deltaarrow.spark_sql.functions.generator import GENERATORS
from deltaarrow.spark_sql.functions.registry import CHAPTERS
from deltaarrow.spark_sql.functions.window import WINDOW_FUNCTIONS
from deltaarrow.sql.registry import KINDS, find_kind, kind_of
from tests.spark.test_spark_sql import CASES
from tests.support.queries import QUERIES
from tests.support.sql_scripts import FOLDERS, OneNode, matches, paths, read_steps, run_step


@pytest.mark.parametrize("path", paths(*FOLDERS), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_script_gives_its_results(path, tmp_path):
    engine = OneNode(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    wrong = []
    for step in read_steps(path.read_text("utf-8")):
        outcome = run_step(engine, step, folder)
        is_right = matches(outcome, step)
        if is_right == (step.one_node_differs is not None):
            wrong.append((f"{path.name}:{step.line}", step.text, outcome.rows or outcome.error))
    engine.close()
    assert wrong == []


def test_scripts_begin_with_what_they_show():
    for path in paths(*FOLDERS):
        assert path.read_text("utf-8").startswith("-- "), path


def test_result_is_compared_with_order_only_where_a_statement_has_one():
    result = "--| a int\n--| 2\n--| 1"
    ordered, unordered = read_steps(f"SELECT 1 ORDER BY 1;\n{result}\n\nSELECT 1;\n{result}\n")
    assert (ordered.is_ordered, ordered.rows) == (True, ("a int", "2", "1"))
    assert (unordered.is_ordered, unordered.line, unordered.rows) == (False, 6, ("a int", "2", "1"))


def test_marks_belong_to_the_next_statement():
    [first, second] = read_steps("--? one node: why\nA;\n--! E\n\n--+ because\nB\n;\n")
    assert (first.one_node_differs, first.error, first.spark_refuses) == ("why", "E", None)
    assert (second.one_node_differs, second.text, second.spark_refuses) == (None, "B\n", "because")


def test_every_kind_of_statement_is_in_a_script():
    found = {
        statement_kind(step.text) for path in paths(*FOLDERS) for step in read_steps(path.read_text("utf-8"))
    }
    wanted = {kind.name for kind in KINDS if kind.spark is not None}
    assert wanted - found == set()


def test_every_kind_has_statements_of_its_own():
    assert len({kind.statement for kind in KINDS}) == len(KINDS)


def statement_kind(text):
    """The name of the kind of a statement; None for a query, and for what is no statement."""
    try:
        words = Words(text, "spark")
        kind = find_kind(words, "spark")
        return None if kind is None else kind_of(kind.spark(words)).name
    except DeltaError:
        return None


def test_every_function_is_in_a_script_or_in_the_cases():
    texts = [path.read_text("utf-8") for path in paths(*FOLDERS)]
    called = set(re.findall(r"\b(\w+)\(", " ".join([*texts, *CASES, *QUERIES]).lower()))
    of_rows = (*AGGREGATES, *WINDOW_FUNCTIONS, *GENERATORS)
    listed = [*itertools.chain.from_iterable(CHAPTERS.values()), *of_rows]
    assert [each.names for each in listed if not called & set(each.names)] == []
