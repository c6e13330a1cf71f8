"""Small tables with one damaged file each, read by every engine, in a process that may crash.

Allowed outcomes: a `DeltaError`; the rows of the sound table; for a data file, an error of the engine
whose own reader read it; and other rows only where no checksum and no count protects the damaged bytes:

* values in the pages of a data file: checksums of Parquet pages are optional, and hardly any writer
  writes them. The number of rows is still that of the sound table, because the log has it;
* values and keys in the JSON of a commit or checkpoint, and values in the pages of a Parquet checkpoint.

A deletion vector in a file has a checksum.
"""

import json
import subprocess
import sys

import duckdb
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import CorruptDataFileError
from tests.support.engines import ENGINES, open_snapshot
from tests.support.modules import ROOT
from tests.support.small_tables import SMALL_TABLES, write_small_table

SECONDS = 300


def fuzz(folder, seed, count, *engines):
    """The outcomes of the fuzzer; fails when it crashed or hung, with what it was at."""
    for name in SMALL_TABLES:
        write_small_table(folder / name, name)
    command = [sys.executable, "-m", "tests.support.fuzz", str(folder), str(seed), str(count), *engines]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
        output, ending = done.stdout, f"ended with {done.returncode}: {done.stderr[-2000:]}"
    except subprocess.TimeoutExpired as error:
        output, ending = (error.stdout or b"").decode(), "hung"
    outcomes = [json.loads(line) for line in output.splitlines()]
    tried = count * len(SMALL_TABLES) * len(engines)
    assert len(outcomes) == 2 * tried, f"{ending} at {outcomes[-1] if outcomes else 'the beginning'}"
    return outcomes[1::2]


def complaint(outcome):
    """What is wrong with an outcome, if anything is."""
    file = outcome["damage"][0]
    is_log, is_vector = file.startswith("_delta_log/"), file.endswith(".bin")
    if "raised" in outcome:
        return "an exception that is no DeltaError"
    if "raised by engine" in outcome and (is_log or is_vector):
        return "an error of an engine although no data file is damaged"
    if "refused" in outcome:
        return None if outcome["message"] else "an error without a message"
    if outcome.get("same") is False:
        if is_vector:
            return "other rows by a damaged deletion vector"
        if not is_log and outcome["count"] != 95:
            return "more or fewer rows by a damaged data file"
    return None


def check(outcomes):
    wrong = [(found, outcome) for outcome in outcomes if (found := complaint(outcome))]
    assert not wrong, wrong[:3]
    # It would be worth nothing if little was damaged where it matters.
    assert sum("refused" in outcome for outcome in outcomes) > len(outcomes) / 5


def test_a_damaged_file_is_refused_or_does_no_harm(tmp_path):
    check(fuzz(tmp_path, 1, 5, "dataset", "duckdb", "polars"))


@pytest.mark.parametrize("engine", ENGINES)
def test_row_groups_with_other_rows_than_the_footer_says_are_refused(tmp_path, engine):
    write_small_table(tmp_path, "commits")
    file = tmp_path / "b.parquet"
    metadata = pq.read_metadata(file)
    # As Thrift has it: the field `num_rows` of the one row group, before and after.
    size = thrift_long(metadata.row_group(0).total_byte_size)
    content = file.read_bytes()
    assert content.count(size + thrift_long(30)) == 1
    file.write_bytes(content.replace(size + thrift_long(30), size + thrift_long(29)))
    with pytest.raises((CorruptDataFileError, duckdb.Error), match=r"b\.parquet"):
        ENGINES[engine](open_snapshot(tmp_path), None, None)


def thrift_long(number):
    """A field of 64 bits that follows its predecessor, in Thrift's compact form."""
    text, rest = bytearray(b"\x16"), number << 1
    while rest > 127:
        text.append(rest & 127 | 128)
        rest >>= 7
    text.append(rest)
    return bytes(text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 7))
def test_many_damaged_files(tmp_path, seed):
    check(fuzz(tmp_path, seed, 150, "dataset", "duckdb", "polars"))
