import pytest

from deltaarrow.actions import (
    Action,
    AddFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
)
from deltaarrow.log import VersionChecksum, next_checksum, render_version_checksum
from deltaarrow.log.checksums import parse_version_checksum

TABLE: list[Action] = [
    Protocol(min_reader_version=1, min_writer_version=2),
    Metadata(id="t", schema_string="{}"),
]
MB = 1 << 20


def add(path: str, size: int) -> AddFile:
    return AddFile(path=path, partition_values={}, size=size, modification_time=0, data_change=True)


def follow(*commits: list[Action]) -> VersionChecksum:
    said = None
    for commit in commits:
        said = next_checksum(said, commit)
        assert said is not None
    return said


def test_a_file_is_counted_in_its_bin():
    sizes = [0, 8191, 8192, 128 * MB - 1, 128 * MB, 300 << 30]
    histogram = follow([*TABLE, *(add(str(size), size) for size in sizes)]).file_size_histogram
    bins = zip(histogram.sorted_bin_boundaries, histogram.file_counts, histogram.total_bytes, strict=True)
    assert [each for each in bins if each[1]] == [
        (0, 2, 8191),
        (8192, 1, 8192),
        (124 * MB, 1, 128 * MB - 1),
        (128 * MB, 1, 128 * MB),
        (256 << 30, 1, 300 << 30),
    ]


def test_what_is_removed_is_taken_away():
    gone = RemoveFile(path="a", data_change=True, size=10)
    said = follow([*TABLE, add("a", 10), add("b", 20)], [gone])
    assert (said.num_files, said.table_size_bytes) == (1, 20)


def test_the_newest_domain_stands_and_a_removed_one_goes():
    first = [DomainMetadata(domain=name, configuration="1") for name in "abc"]
    second = [
        DomainMetadata(domain="a", configuration="2"),
        DomainMetadata(domain="b", configuration="1", removed=True),
    ]
    domains = follow([*TABLE, *first], second).domains
    assert {name: domain.configuration for name, domain in domains.items()} == {"a": "2", "c": "1"}


def test_more_than_ten_domains_are_not_told_from_then_on():
    domains = [DomainMetadata(domain=str(number), configuration="") for number in range(11)]
    assert follow([*TABLE, *domains[:10]]).domains is not None
    assert follow([*TABLE, *domains]).domains is None
    assert follow([*TABLE, *domains], [add("a", 1)]).domains is None


def test_the_newest_transaction_of_an_application_stands():
    def txn(app_id: str, version: int) -> SetTransaction:
        return SetTransaction(app_id=app_id, version=version)

    transactions = follow([*TABLE, txn("a", 1), txn("b", 1)], [txn("a", 2)]).transactions
    assert {name: each.version for name, each in transactions.items()} == {"a": 2, "b": 1}


def test_protocol_and_metadata_are_the_newest():
    newer = Metadata(id="t", schema_string="{}", configuration={"a": "1"})
    assert follow(TABLE, [newer]).metadata == newer


@pytest.mark.parametrize(
    "actions",
    [
        [RemoveFile(path="a", data_change=True)],
        [RemoveFile(path="a", data_change=True, size=2)],
        [RemoveFile(path="a", data_change=True, size=1), RemoveFile(path="b", data_change=True, size=0)],
        [add("a", -1)],
    ],
    ids=["no size", "another size", "more files than there are", "a negative size"],
)
def test_what_cannot_be_is_not_counted(actions):
    assert next_checksum(follow([*TABLE, add("a", 1)]), actions) is None


def test_a_commit_without_a_table_has_no_checksum():
    assert next_checksum(None, [add("a", 1)]) is None


def test_what_is_written_is_read_again():
    info = CommitInfo(txn_id="x", in_commit_timestamp=5)
    everything = [info, *TABLE, add("a", 7), SetTransaction(app_id="s", version=1)]
    said = follow([*everything, DomainMetadata(domain="d", configuration="{}")])
    assert (said.txn_id, said.in_commit_timestamp) == ("x", 5)
    assert parse_version_checksum(render_version_checksum(said)) == said
