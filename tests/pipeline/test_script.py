"""SQL scripts: the ends of statements, and the allowed values of variables."""

import pytest

from deltaarrow.pipeline import OneNodeEngine, Script, read_scripts, run_scripts


def test_statements_end_at_semicolons_outside_of_quotes_and_comments():
    script = Script(
        "a",
        "-- A title; of one sentence. And more.\nSELECT 'a;''b', \"c;\", `d;``e` -- ; not here\n;;"
        "/* nor; here */ SELECT 1 - 2 / 3;\n-- the end\n",
    )
    assert script.title == "A title; of one sentence"
    first, second = script.statements({})
    assert first == "SELECT 'a;''b', \"c;\", `d;``e`"
    assert second == "SELECT 1 - 2 / 3"


def test_variables_stand_anywhere_and_cannot_end_what_they_stand_in():
    script = Script("a", "SELECT * FROM delta.`${lake}/t` WHERE n = ${n}")
    assert script.statements({"lake": "/a b/é", "n": 5}) == ["SELECT * FROM delta.`/a b/é/t` WHERE n = 5"]
    for lake in ("/a`b", "/a'b", "/a;b", '/a"b', "/a\\b", "/a--b"):
        with pytest.raises(ValueError, match="lake"):
            script.statements({"lake": lake, "n": 5})
    with pytest.raises(ValueError, match="variable n has no value"):
        script.statements({"lake": "/a"})


def test_folders_and_scripts_that_are_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no scripts"):
        read_scripts(tmp_path)
    (tmp_path / "02_b.sql").write_text("SELECT 2")
    (tmp_path / "01_a.sql").write_text("SELECT 1")
    assert [script.name for script in read_scripts(tmp_path)] == ["01_a", "02_b"]
    with pytest.raises(ValueError, match="no script is named 03"):
        next(run_scripts(OneNodeEngine(), tmp_path, {}, first="03"))
    assert read_scripts(tmp_path / "02_b.sql") == [Script("02_b", "SELECT 2")]
    with pytest.raises(FileNotFoundError, match="no scripts"):
        read_scripts(tmp_path / "03_c.sql")
