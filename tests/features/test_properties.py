"""Table properties: parsed values, refused texts and defaults."""

from datetime import timedelta

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.features import PROPERTIES, TableProperty, properties

DAY = timedelta(days=1)


@pytest.mark.parametrize("record", PROPERTIES.values(), ids=lambda p: p.name)
def test_a_record_is_consistent(record):
    assert record.name.startswith("delta.")
    assert record.sentence.endswith(".")
    assert record.parse({}) == record.default
    assert record.default is None or record.is_valid(record.default)


def test_every_constant_is_found_by_its_name():
    constants = [p for p in vars(properties).values() if isinstance(p, TableProperty)]
    assert len(constants) == len(PROPERTIES)
    assert all(PROPERTIES[p.name.lower()] is p for p in constants)


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("delta.checkpointInterval", 10),
        ("delta.logRetentionDuration", 30 * DAY),
        ("delta.deletedFileRetentionDuration", 7 * DAY),
        ("delta.dataSkippingNumIndexedCols", 32),
        ("delta.checkpoint.writeStatsAsJson", True),
        ("delta.checkpoint.writeStatsAsStruct", True),
        ("delta.randomPrefixLength", 2),
        ("delta.appendOnly", False),
        ("delta.columnMapping.mode", "none"),
        ("delta.setTransactionRetentionDuration", None),
        ("delta.checkpointPolicy", "classic"),
    ],
)
def test_the_defaults_are_those_of_spark(name, default):
    assert PROPERTIES[name.lower()].parse({}) == default


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("False", False), ("false", False)]
)
def test_booleans(text, value):
    assert properties.APPEND_ONLY.parse({"delta.appendOnly": text}) is value


@pytest.mark.parametrize("text", ["", "1", "yes", " true", "t"])
def test_text_that_is_no_boolean_is_refused_by_name(text):
    with pytest.raises(InvalidTablePropertyError, match=r"delta\.appendOnly must be a boolean"):
        properties.APPEND_ONLY.parse({"delta.appendOnly": text})


@pytest.mark.parametrize("text", ["", "ten", "1_0", " 10", "1.0", "2147483648", "\u0661"])
def test_text_that_is_no_integer_is_refused(text):
    with pytest.raises(InvalidTablePropertyError, match=r"delta\.checkpointInterval"):
        properties.CHECKPOINT_INTERVAL.parse({"delta.checkpointInterval": text})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("interval 30 days", 30 * DAY),
        ("INTERVAL 30 DAYS", 30 * DAY),
        ("1 week", 7 * DAY),
        ("2 weeks 1 day", 15 * DAY),
        ("  interval 1 day 12 hours ", 1.5 * DAY),
        ("interval 1.5 seconds", timedelta(seconds=1.5)),
        ("90 minutes", timedelta(minutes=90)),
        ("5 milliseconds 7 microseconds", timedelta(milliseconds=5, microseconds=7)),
        ("2 days -1 day", DAY),
        ("interval 0 hours", timedelta()),
    ],
)
def test_intervals(text, value):
    assert properties.LOG_RETENTION.parse({"delta.logRetentionDuration": text}) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "interval",
        "30",
        "days",
        "1 month",
        "1 year",
        "1.5 days",
        "1 day, 2 hours",
        "1 fortnight",
        "9" * 30 + " days",
    ],
)
def test_text_that_is_no_interval_is_refused(text):
    with pytest.raises(InvalidTablePropertyError, match="interval"):
        properties.LOG_RETENTION.parse({"delta.logRetentionDuration": text})


@given(st.integers(0, 10**6), st.sampled_from(["day", "hour", "minute", "second", "week"]))
@settings(deadline=None)
def test_an_interval_is_its_number_of_units(number, unit):
    text = f"interval {number} {unit}{'' if number == 1 else 's'}"
    assert properties.LOG_RETENTION.parse({"delta.logRetentionDuration": text}) == timedelta(
        **{f"{unit}s": number}
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", ()),
        ("id", (("id",),)),
        ("id,name", (("id",), ("name",))),
        ("a.b.c , d", (("a", "b", "c"), ("d",))),
        ("`odd.name`.x, `a``b`, `c,d`", (("odd.name", "x"), ("a`b",), ("c,d",))),
    ],
)
def test_lists_of_columns(text, columns):
    record = properties.DATA_SKIPPING_STATS_COLUMNS
    assert record.parse({record.name: text}) == columns


@pytest.mark.parametrize("text", ["a,", ",a", "a b", "a..b", "`a", "a-b", "a,,b"])
def test_text_that_is_no_list_of_columns_is_refused(text):
    record = properties.DATA_SKIPPING_STATS_COLUMNS
    with pytest.raises(InvalidTablePropertyError, match=record.name):
        record.parse({record.name: text})


def test_the_older_name_of_the_change_data_feed_counts():
    record = properties.ENABLE_CHANGE_DATA_FEED
    assert record.parse({"delta.enableChangeDataCapture": "true"}) is True
    assert record.parse({"delta.enableChangeDataCapture": "true", record.name: "false"}) is False


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("delta.checkpointInterval", "0"),
        ("delta.dataSkippingNumIndexedCols", "-2"),
        ("delta.logRetentionDuration", "interval -1 days"),
        ("delta.randomPrefixLength", "0"),
        ("delta.isolationLevel", "WriteSerializable"),
        ("delta.checkpointPolicy", "v3"),
        ("delta.checkpointPolicy", "V2"),
        ("delta.columnMapping.mode", "index"),
        ("delta.universalFormat.enabledFormats", "iceberg,iceberg"),
        ("delta.parquet.format.version", "3.0.0"),
        ("delta.columnMapping.maxColumnId", "7"),
    ],
)
def test_what_a_user_may_not_set_is_refused_by_name(name, text):
    with pytest.raises(InvalidTablePropertyError, match=name):
        PROPERTIES[name.lower()].ensure_valid(text)


def test_what_a_user_may_not_set_is_read():
    assert properties.COLUMN_MAPPING_MAX_COLUMN_ID.parse({"delta.columnMapping.maxColumnId": "7"}) == 7
    assert (
        properties.ISOLATION_LEVEL.parse({"delta.isolationLevel": "WriteSerializable"}) == "writeserializable"
    )
