"""The package knows scripts, and none of the tables in those of ``sql/pipeline``."""

from pathlib import PurePath

from deltaarrow.pipeline import read_scripts
from deltaarrow.spark_sql import table_places
from tests.support.modules import modules
from tests.support.pipeline import FOLLOW, SCRIPTS

VARIABLES = {"lake": "/lake", "events": 1, "batch": 0}
TABLES = {
    place.path.removeprefix("/lake/")
    for folder in (SCRIPTS, FOLLOW.parent)
    for script in read_scripts(folder)
    for statement in script.statements(VARIABLES)
    for place in table_places(statement)
}


def test_tables_are_those_that_the_scripts_name():
    assert sorted(TABLES) == ["bronze/events", "gold/daily_sales", "silver/orders"]


def test_no_module_names_a_table_of_the_scripts():
    found = {
        module.name for module in modules() for table in TABLES if table in module.path.read_text("utf-8")
    }
    assert found == set()


def test_no_module_that_runs_scripts_has_a_word_of_the_names():
    words = {word for table in TABLES for word in PurePath(table).parts} - {
        "orders"
    }  # an example of docstrings
    runners = [module for module in modules() if "pipeline" in module.name]
    assert len(runners) > 5
    assert {
        (module.name, word) for module in runners for word in words if word in module.path.read_text("utf-8")
    } == set()
