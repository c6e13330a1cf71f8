"""Every class of errors that the package names has Spark's SQLSTATE."""

import re
from pathlib import Path

import pytest

import deltaarrow
from deltaarrow.errors import DeltaError
from deltaarrow.sql.error_states import sql_state
from tests.support.sql_scripts import FOLDERS, paths, read_steps

PACKAGE = Path(deltaarrow.__file__).parent
NAMED = re.compile(r"\"\[([A-Z][A-Z0-9]+_[A-Z0-9_.]+)\] |\(Spark: ([A-Z][A-Z_.]+)\)")


def test_every_class_that_is_spelled_has_a_state():
    spelled = {
        found[1] or found[2]
        for path in PACKAGE.rglob("*.py")
        for found in NAMED.finditer(path.read_text("utf-8"))
    }
    assert len(spelled) > 80
    assert {name for name in spelled if sql_state(name) is None} == set()


def test_every_class_in_the_scripts_has_a_state():
    named = {step.error for path in paths(*FOLDERS) for step in read_steps(path.read_text("utf-8"))}
    assert {name for name in named if name is not None and sql_state(name) is None} == set()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("SELECT 1 +", "42601"),
        ("SELECT 1 / 0", "22012"),
        ("OPTIMIZE nothing", "42P01"),
        ("SELECT 'a", "42601"),
    ],
)
def test_message_tells_the_state_once(text, state):
    with deltaarrow.connect(dialect="spark") as con, pytest.raises(DeltaError) as refused:
        con.sql(text).fetchall()
    first, *_ = str(refused.value).split("\n")
    assert first.count(f"(SQLSTATE: {state})") == 1
    assert str(refused.value).count("SQLSTATE") == 1
