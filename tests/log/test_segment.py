import pytest

from deltaarrow.errors import CorruptLogError, TableNotFoundError, VersionNotFoundError
from deltaarrow.log.file_names import LogFile, parse_log_file
from deltaarrow.log.segment import extend_segment, select_segment
from deltaarrow.storage import FileEntry

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def listing(*names: str) -> list[LogFile]:
    files = [parse_log_file(FileEntry(f"_delta_log/{name}", 1, 0)) for name in names]
    return [file for file in files if file is not None]


def commits(first: int, last: int) -> list[str]:
    return [f"{version:020d}.json" for version in range(first, last + 1)]


def chosen(segment) -> list[str]:
    files = [] if segment.checkpoint is None else list(segment.checkpoint.files)
    return [file.name.removeprefix("_delta_log/") for file in [*files, *segment.deltas]]


CLASSIC_2 = f"{2:020d}.checkpoint.parquet"
CLASSIC_4 = f"{4:020d}.checkpoint.parquet"


def test_the_newest_complete_checkpoint_not_after_the_wanted_version_begins_the_segment():
    files = listing(*commits(0, 6), CLASSIC_2, CLASSIC_4)
    assert chosen(select_segment(files)) == [CLASSIC_4, *commits(5, 6)]
    assert chosen(select_segment(files, 4)) == [CLASSIC_4]
    assert chosen(select_segment(files, 3)) == [CLASSIC_2, *commits(3, 3)]
    assert chosen(select_segment(files, 1)) == commits(0, 1)


def test_a_multi_part_checkpoint_counts_only_when_every_part_is_listed():
    parts = [f"{4:020d}.checkpoint.{part:010d}.{3:010d}.parquet" for part in (1, 2, 3)]
    files = listing(*commits(0, 5), CLASSIC_2, *parts[:2])
    assert chosen(select_segment(files))[0] == CLASSIC_2
    files = listing(*commits(0, 5), CLASSIC_2, *parts)
    assert chosen(select_segment(files)) == [*parts, *commits(5, 5)]


def test_parts_of_different_multi_part_checkpoints_do_not_make_one():
    parts = [
        f"{4:020d}.checkpoint.{1:010d}.{2:010d}.parquet",
        f"{4:020d}.checkpoint.{2:010d}.{3:010d}.parquet",
    ]
    assert select_segment(listing(*commits(0, 5), *parts)).checkpoint is None


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_uuid_checkpoint_is_one(ending):
    name = f"{4:020d}.checkpoint.{UUID}.{ending}"
    assert chosen(select_segment(listing(*commits(0, 5), name))) == [name, *commits(5, 5)]


def test_every_version_after_the_checkpoint_is_covered_without_gaps():
    with pytest.raises(CorruptLogError, match="version 3 has no commit"):
        select_segment(listing(*commits(0, 2), *commits(4, 5)))
    with pytest.raises(CorruptLogError, match="version 5 has no commit"):
        select_segment(listing(*commits(0, 4), CLASSIC_4, *commits(6, 6)))


def test_a_gap_before_the_checkpoint_does_no_harm():
    files = listing(*commits(0, 0), *commits(2, 5), CLASSIC_4)
    assert chosen(select_segment(files)) == [CLASSIC_4, *commits(5, 5)]


def test_a_log_compaction_stands_in_for_the_commits_it_covers():
    compaction = f"{1:020d}.{3:020d}.compacted.json"
    files = listing(*commits(0, 5), compaction)
    assert chosen(select_segment(files)) == [*commits(0, 0), compaction, *commits(4, 5)]


def test_a_log_compaction_that_reaches_beyond_is_not_used():
    compaction = f"{1:020d}.{3:020d}.compacted.json"
    files = listing(*commits(0, 5), CLASSIC_2, compaction)
    assert chosen(select_segment(files)) == [CLASSIC_2, *commits(3, 5)]
    assert chosen(select_segment(listing(*commits(0, 5), compaction), 2)) == commits(0, 2)


def test_of_two_log_compactions_the_longer_is_used():
    short, long = f"{1:020d}.{2:020d}.compacted.json", f"{1:020d}.{4:020d}.compacted.json"
    assert chosen(select_segment(listing(*commits(0, 5), short, long))) == [
        *commits(0, 0),
        long,
        *commits(5, 5),
    ]


def test_a_log_without_a_checkpoint_begins_with_version_0():
    with pytest.raises(CorruptLogError, match="begins with version 1"):
        select_segment(listing(*commits(1, 3)))


def test_a_checkpoint_alone_is_a_log():
    segment = select_segment(listing(CLASSIC_4))
    assert (segment.version, segment.deltas, segment.last_commit) == (4, (), None)


@pytest.mark.parametrize(
    ("names", "wanted", "message"),
    [
        (commits(0, 3), 4, "version 4 does not exist: the log holds the versions 0 to 3"),
        (commits(0, 3), -1, "version -1 does not exist: the log holds the versions 0 to 3"),
        ([*commits(4, 6), CLASSIC_4], 2, "version 2 can no longer be read: .* the versions 4 to 6"),
        ([*commits(5, 6), CLASSIC_4], 0, "version 0 can no longer be read: .* the versions 4 to 6"),
        ([*commits(2, 6), CLASSIC_4], 3, "version 3 can no longer be read: .* the versions 4 to 6"),
        ([*commits(0, 0), *commits(3, 6), CLASSIC_2, CLASSIC_4], 1, "version 1 .* versions 2 to 6"),
        ([*commits(5, 6), CLASSIC_2, CLASSIC_4], 3, "version 3 can no longer be read: .* versions 4 to 6"),
        ([CLASSIC_4], 5, "the versions 4 to 4"),
    ],
)
def test_a_version_that_the_log_does_not_lead_to_is_refused_with_those_it_does(names, wanted, message):
    with pytest.raises(VersionNotFoundError, match=message):
        select_segment(listing(*names), wanted)


def test_a_gap_is_no_matter_of_retention():
    with pytest.raises(CorruptLogError, match="version 2 has no commit"):
        select_segment(listing(*commits(0, 1), *commits(3, 4)), 3)


def test_a_checkpoint_that_nothing_leads_on_from_can_still_be_read():
    assert chosen(select_segment(listing(*commits(5, 6), CLASSIC_2, CLASSIC_4), 2)) == [CLASSIC_2]


def test_a_held_segment_is_led_on_by_the_files_after_it():
    held = select_segment(listing(*commits(0, 3), CLASSIC_2))
    compaction = f"{4:020d}.{6:020d}.compacted.json"
    longer = extend_segment(held, listing(*commits(3, 7), compaction))
    assert chosen(longer) == [CLASSIC_2, *commits(3, 3), compaction, *commits(7, 7)]
    assert (longer.version, longer.last_commit.version) == (7, 7)
    assert extend_segment(held, listing(*commits(3, 3), f"{3:020d}.checkpoint.parquet")) is held


@pytest.mark.parametrize(
    "names",
    [
        [],
        commits(4, 5),
        [*commits(3, 3), *commits(5, 5)],
        [*commits(3, 3), f"{5:020d}.checkpoint.parquet"],
    ],
)
def test_a_held_segment_that_the_listing_does_not_continue_is_given_up(names):
    assert extend_segment(select_segment(listing(*commits(0, 3))), listing(*names)) is None


def test_a_held_segment_whose_last_commit_has_changed_is_given_up():
    name = f"_delta_log/{1:020d}.json"
    other = parse_log_file(FileEntry(name, 2, 0))
    assert extend_segment(select_segment(listing(*commits(0, 1))), [other]) is None


def test_a_log_of_checksums_alone_is_not_a_table():
    with pytest.raises(TableNotFoundError):
        select_segment(listing(f"{0:020d}.crc", "_last_checkpoint", ".00000000000000000000.json.crc"))
