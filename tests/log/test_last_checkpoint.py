import json

import pytest

from deltaarrow.log.last_checkpoint import Hint, checksum, read_hint, write_hint
from deltaarrow.storage import open_store


def test_checksum_of_the_protocol():
    hint = {
        "k0": "'v 0'",
        "checksum": "adsaskfljadfkjadfkj",
        "k1": {"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]},
    }
    assert checksum(hint) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_checksum_is_sorted_by_path_and_not_by_line():
    eleven = {"a": list(range(11))}
    reordered = {"a": {str(i): i for i in range(11)}}
    assert checksum(eleven) != checksum(reordered)  # names are quoted, positions are not
    assert checksum({"b": 1, "a": 2}) == checksum({"a": 2, "b": 1})


def test_a_written_hint_is_read(tmp_path):
    store = open_store(tmp_path)
    write_hint(store, Hint(version=7, size=3, size_in_bytes=100, num_of_add_files=1))
    assert read_hint(store) == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"size": 3}',
        '{"version": "7", "size": 3}',
        '{"version": true}',
        '{"version": -1}',
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_a_broken_hint_is_no_hint(tmp_path, text, checked):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(text)
    assert read_hint(open_store(tmp_path), checked=checked) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"version": 8, "version": 7}',
        '{"version": 7, "size": 3, "checksum": "6a92d155a59bf2eecbd4b4ec7fd1f875"}',
    ],
    ids=["a key twice", "another checksum"],
)
def test_only_who_asks_for_it_has_a_hint_checked(tmp_path, text):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(text)
    assert read_hint(open_store(tmp_path), checked=True) is None
    assert read_hint(open_store(tmp_path)) == 7


def test_a_hint_without_checksum_counts(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(
        json.dumps({"version": 7, "v2Checkpoint": None})
    )
    assert read_hint(open_store(tmp_path)) == 7
