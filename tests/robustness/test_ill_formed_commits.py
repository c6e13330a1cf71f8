"""Ill-formed commits: refused with the name of the file, or read as intended."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptDataFileError, CorruptLogError, DeltaError
from tests.support.exercise import refusals
from tests.support.mutations import ODD_VALUES, places, replaced, without
from tests.support.small_tables import small_table_copy, write_small_table

FIRST, SECOND, LAST = (f"{version:020d}.json" for version in (0, 1, 3))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return write_small_table(tmp_path_factory.mktemp("original") / "t", "commits").path


@pytest.fixture
def table(original, tmp_path):
    return small_table_copy(original, tmp_path)


def lines_of(table, commit):
    return [json.loads(line) for line in (table / "_delta_log" / commit).read_text().splitlines()]


def write_lines(table, commit, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (table / "_delta_log" / commit).write_text(text)


def bend(table, commit, action, **fields):
    """Give the first `action` of a commit other fields."""
    lines = lines_of(table, commit)
    next(line[action] for line in lines if action in line).update(fields)
    write_lines(table, commit, lines)


def refused(table, name):
    with pytest.raises(CorruptLogError) as caught:
        DeltaTable(table).to_pyarrow_table()
    assert name in str(caught.value)


# --- texts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n\n",
        b"\xff\xfe{}\n",
        b"\xef\xbb\xbf{}\n",
        b"7\n",
        b"[]\n",
        b'{"add":\n',
        b'{"commitInfo":{"x":NaN}}\n',
        b'{"commitInfo":{"x":"\\ud800"}}\n',
        b'{"commitInfo":{"x":"a\nb"}}\n',
        b'{"commitInfo":{}}}\n',
        b'{"commitInfo":{}},{"commitInfo":{}}\n',
        b'{"commitInfo":' + b"[" * 100_000 + b"\n",
        b'{"commitInfo":{}}\n\0\n',
        b'{"commitInfo":' + b"1" * 10_000 + b"}\n",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_is_not_json_is_refused(table, text):
    (table / "_delta_log" / LAST).write_bytes(text)
    refused(table, LAST)


def test_the_refusal_of_text_after_an_action_shows_it(table):
    """Spark ignores the text."""
    file = table / "_delta_log" / LAST
    first, *rest = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([first, *rest[:-1], rest[-1] + b" rubbish"]) + b"\n")
    with pytest.raises(
        CorruptLogError, match=rf"{LAST}.* line {1 + len(rest)} has 'rubbish' after a JSON object"
    ):
        DeltaTable(table).to_pyarrow_table()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_commit_cut_off_within_a_line_is_refused(table, share):
    file = table / "_delta_log" / LAST
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    refused(table, LAST)


def test_a_line_break_in_a_text_is_not_taken_for_the_end_of_a_document(table):
    file = table / "_delta_log" / LAST
    file.write_bytes(file.read_bytes().replace(b"d.parquet", b"d\nparquet"))
    refused(table, LAST)


def test_of_a_key_given_twice_the_last_counts(table):
    file = table / "_delta_log" / LAST
    before = DeltaTable(table).to_pyarrow_table().num_rows
    file.write_bytes(file.read_bytes().replace(b'"path":', b'"path": "nowhere", "path":'))
    assert DeltaTable(table).to_pyarrow_table().num_rows == before


# --- actions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"path": 7},
        {"path": None},
        {"size": "7"},
        {"size": True},
        {"size": 1.5},
        {"size": 2**63},
        {"size": 2**70},
        {"stats": {"numRecords": 1}},
        {"partitionValues": None},
        {"partitionValues": []},
        {"partitionValues": {"day": 7}},
        {"deletionVector": "x"},
        {"deletionVector": {"storageType": "u", "pathOrInlineDv": "x"}},
        {"deletionVector": {"storageType": 1, "pathOrInlineDv": 2, "sizeInBytes": 3, "cardinality": 4}},
    ],
    ids=str,
)
def test_an_add_with_an_impossible_value_is_refused(table, fields):
    bend(table, LAST, "add", **fields)
    refused(table, LAST)


@pytest.mark.parametrize("fields", [{"dataChange": "false"}, {"tags": {"x": {}}}], ids=str)
def test_an_impossible_value_on_which_no_row_depends_is_refused_once_it_is_asked_for(table, fields):
    rows = DeltaTable(table).to_pyarrow_table()
    bend(table, LAST, "add", **fields)
    bent = DeltaTable(table)
    assert bent.to_pyarrow_table().sort_by("id") == rows.sort_by("id")
    with pytest.raises(CorruptLogError, match=LAST):
        bent.snapshot.files()


def test_a_partition_value_of_another_type_is_refused_with_the_data_file(table):
    bend(table, LAST, "add", partitionValues={"day": "not a day"})
    refused(table, "d.parquet")


def test_a_line_with_two_actions_is_refused(table):
    *others, last = lines_of(table, LAST)
    write_lines(table, LAST, [*others, last | {"remove": {"path": "a.parquet", "dataChange": True}}])
    refused(table, LAST)


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("protocol", {"minReaderVersion": "3"}),
        ("protocol", {"minReaderVersion": 3.0}),
        ("protocol", {"readerFeatures": "deletionVectors"}),
        ("protocol", {"writerFeatures": [7]}),
        ("metaData", {"schemaString": {}}),
        ("metaData", {"partitionColumns": "day"}),
        ("metaData", {"partitionColumns": [1]}),
        ("metaData", {"configuration": {"delta.appendOnly": True}}),
        ("metaData", {"format": "parquet"}),
        ("txn", {"version": "1"}),
        ("txn", {"appId": None}),
    ],
    ids=str,
)
def test_another_action_with_an_impossible_value_is_refused(table, action, fields):
    bend(table, FIRST, action, **fields)
    refused(table, FIRST)


def test_the_refusal_names_a_json_checkpoint_as_well(tmp_path):
    builder = write_small_table(tmp_path / "t", "commits")
    (file,) = builder.checkpoint(1, "v2-json")
    file.write_text(file.read_text().replace('"size": ', '"size": true, "was": '))
    refused(builder.path, file.name)


@pytest.mark.parametrize(
    "path", ["../../../x", "a\0b", "", ".", "x" * 5000, "nowhere/" * 300 + "x", "a.parquet/x"]
)
def test_a_path_that_leads_to_no_data_file_is_refused(table, path):
    bend(table, LAST, "add", path=path)
    with pytest.raises(DeltaError) as caught:
        DeltaTable(table).to_pyarrow_table()
    assert path[:20] in str(caught.value) or repr(path) in str(caught.value)


def test_a_data_file_twice_in_a_checkpoint_is_refused(tmp_path):
    builder = write_small_table(tmp_path / "t", "commits")
    add = next(action for action in builder.commits[3] if "add" in action)
    again = {"add": add["add"] | {"deletionVector": builder.deletion_vector([0], "i")}}
    builder.commit([again])
    refused(builder.path, "d.parquet")


def test_a_missing_partition_value_is_null_as_in_spark(table):
    bend(table, LAST, "add", partitionValues={})
    assert DeltaTable(table).to_pyarrow_table().column("day").null_count == 10


def test_impossible_row_counts_of_statistics_are_not_counted(table):
    for number, rows in {"-5": 95, "9223372036854775807": 95, "true": 95, "1e300": 95}.items():
        bend(table, LAST, "add", stats=f'{{"numRecords": {number}}}')
        counted = DeltaTable(table).to_pyarrow_table().num_rows
        assert counted == rows, number
    bend(table, LAST, "add", stats='{"numRecords": -5}')
    assert DeltaTable(table).count() == 95


def test_a_file_with_other_rows_than_the_log_says_is_refused(table):
    bend(table, LAST, "add", stats='{"numRecords": 11}')
    with pytest.raises(CorruptDataFileError, match=r"d\.parquet has 10 rows; the log says 11"):
        DeltaTable(table).to_pyarrow_table()


# --- anything --------------------------------------------------------------------------------------


@st.composite
def bent_commits(draw, commits):
    """A commit, and its lines with one value removed or replaced by any JSON."""
    name = draw(st.sampled_from(sorted(commits)))
    lines = commits[name]
    place = draw(st.sampled_from(list(places(lines))))
    if draw(st.booleans()):
        return name, without(lines, place)
    return name, replaced(lines, place, draw(st.sampled_from(ODD_VALUES)))


def bend_anywhere(original, tmp_path_factory, examples):
    commits = {name: lines_of(original, name) for name in (FIRST, SECOND, LAST)}

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(bent_commits(commits))
    def check(bent):
        table = small_table_copy(original, tmp_path_factory.mktemp("bent"))
        write_lines(table, *bent)
        for _, error in refusals(table):
            assert str(error)

    check()


def test_nothing_but_delta_errors_comes_of_a_bent_commit(original, tmp_path_factory):
    bend_anywhere(original, tmp_path_factory, 60)


@pytest.mark.slow
def test_nothing_but_delta_errors_comes_of_many_bent_commits(original, tmp_path_factory):
    bend_anywhere(original, tmp_path_factory, 3000)
