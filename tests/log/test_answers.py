"""Answers that are kept for queries that come again."""

import importlib

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import Column, Compare, Literal
from deltaarrow.log.answers import RecentAnswers
from tests.support.tables import TableBuilder

replay = importlib.import_module("deltaarrow.log.replay")


def numbers(count):
    return pa.table({"n": pa.array(range(count), pa.int64())})


def test_a_question_is_asked_once():
    answers, asked = RecentAnswers(), []

    def find():
        asked.append(1)
        return numbers(3)

    assert answers.of("a", find) is answers.of("a", find)
    assert len(asked) == 1


def test_those_that_were_asked_for_the_longest_are_let_go_first():
    answers = RecentAnswers(most_bytes=80)
    first = answers.of("a", lambda: numbers(5))
    answers.of("b", lambda: numbers(5))
    assert answers.of("a", lambda: numbers(1)) is first
    answers.of("c", lambda: numbers(5))
    assert answers.of("a", lambda: numbers(1)) is first
    assert answers.of("b", lambda: numbers(1)).num_rows == 1


def test_one_that_is_too_large_is_not_kept():
    answers = RecentAnswers(most_bytes=79)
    assert answers.of("a", lambda: numbers(10)).num_rows == 10
    assert answers.of("a", lambda: numbers(2)).num_rows == 2


def test_a_question_that_failed_is_asked_again():
    answers = RecentAnswers()
    with pytest.raises(ZeroDivisionError):
        answers.of("a", lambda: 1 / 0)
    assert answers.of("a", lambda: numbers(2)).num_rows == 2


def test_a_query_that_comes_again_reads_nothing_of_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "_SMALL_CHECKPOINT", -1)
    monkeypatch.setattr(replay, "LARGE_CHECKPOINT", 0)
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("x", pa.float64())]))
    stats = [{"numRecords": 1, "minValues": {"x": x}, "maxValues": {"x": x}} for x in (0.5, 1.0)]
    table.commit([table.add_file(1, name=f"f{n}", stats=each) for n, each in enumerate(stats)])
    (checkpoint,) = table.checkpoint()
    table.delete_commits(0)
    snapshot = da.DeltaTable(tmp_path).snapshot

    def paths(value, columns=("path",)):
        found = snapshot.files(Compare("=", Column(("x",)), Literal(value)), list(columns))
        return found.column("path").to_pylist()

    assert paths(1.0) == ["f1"]
    checkpoint.unlink()
    assert paths(1.0) == ["f1"]
    for value, columns in ((0.5, ["path"]), (1.0, ["path", "size"])):
        with pytest.raises(CorruptLogError):
            paths(value, columns)
