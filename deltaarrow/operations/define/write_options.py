"""`WriteOptions`: how rows are written to a table, and the options of Spark's writer for the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import InvalidOptionError
from deltaarrow.features import parse_size
from deltaarrow.transaction import AutoCompaction, Transaction
from deltaarrow.write import WriterProperties

__all__ = ["SPARK_OPTIONS", "StreamEpoch", "WriteOptions", "parse_spark_options"]

_MODES = ("append", "overwrite", "error", "ignore")
_CHECKS_PREDICATE = "spark.databricks.delta.replaceWhere.constraintCheck.enabled"

SPARK_OPTIONS = (
    "replaceWhere",
    "partitionOverwriteMode",
    "mergeSchema",
    "overwriteSchema",
    "txnAppId",
    "txnVersion",
    "userMetadata",
    "optimizeWrite",
    _CHECKS_PREDICATE,
    "spark.databricks.delta.autoCompact.enabled",
    "spark.databricks.delta.autoCompact.minNumFiles",
    "spark.databricks.delta.autoCompact.maxFileSize",
    "spark.databricks.delta.autoCompact.minFileSize",
)
"""The options of Spark's Delta writer, and settings of its sessions, that `parse_spark_options` accepts."""

_AUTO_COMPACT = "spark.databricks.delta.autoCompact."
_SNAKE_CASE = {
    "minNumFiles": "min_num_files",
    "maxFileSize": "max_file_size",
    "minFileSize": "min_file_size",
}

_SPELLED = {name.lower(): name for name in SPARK_OPTIONS}


@dataclass(frozen=True)
class StreamEpoch:
    """A batch of a stream that Spark writes: the id of its query, and its number, from 0 on."""

    query: str
    number: int


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How rows are written to a table.

    Args:
        mode: ``append``, ``overwrite``, ``error`` or ``ignore``. The caller handles ``error`` and ``ignore``
            for an existing table before the write begins.
        partition_by: the partition columns; None keeps the table's.
        cluster_by: the clustering columns of a new or existing table. None keeps them,
            but an overwrite of all rows drops them.
        schema_mode: ``merge`` adds columns that the table lacks and widens types if the table allows it;
            ``overwrite`` replaces the schema by that of the data; None keeps the schema.
        predicate: the rows that an overwrite replaces, in Spark SQL; all rows if None.
        checks_predicate: whether each new row of an overwrite with a predicate has to fulfil it.
        partition_overwrite_mode: ``dynamic`` replaces only the partitions of the written rows; ``static``
            replaces all rows.
        target_file_size: the size in bytes at which a data file is closed and the next one begins.
        writer_properties: Parquet settings of the written files.
        optimize_write: whether the rows of a partition are gathered before they are written, into as few
            files as possible; None for the properties of the table.
        applications: the progress of applications, committed with the rows.
        epoch: the batch of a stream with these rows; history then shows a ``STREAMING UPDATE``.
        name, description, configuration: properties of a new table.
        as_deltalake: whether a new table is made as ``deltalake`` makes it and not as Spark: a column name
            that Spark takes only with column mapping turns it on, and columns of the data are generated if
            their Arrow metadata say so.
        cast: whether values are cast to the types of the table's columns, as `cast_columns` casts them.

    Raises:
        ValueError: an option has an unknown value.
        InvalidOptionError: two options exclude each other.
    """

    mode: str = "error"
    partition_by: Sequence[str] | None = None
    cluster_by: Sequence[str] | None = None
    schema_mode: str | None = None
    predicate: str | None = None
    checks_predicate: bool = True
    partition_overwrite_mode: str = "static"
    target_file_size: int | None = None
    writer_properties: WriterProperties | None = None
    optimize_write: bool | None = None
    applications: Sequence[Transaction] = ()
    epoch: StreamEpoch | None = None
    name: str | None = None
    description: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)
    as_deltalake: bool = False
    cast: bool = False

    def __post_init__(self) -> None:
        _ensure_one_of("mode", self.mode, _MODES)
        _ensure_one_of("schema_mode", self.schema_mode, (None, "merge", "overwrite"))
        _ensure_one_of("partition_overwrite_mode", self.partition_overwrite_mode, ("static", "dynamic"))
        if self.mode != "overwrite":
            for name, given in (
                ("predicate", self.predicate is not None),
                ("partition_overwrite_mode='dynamic'", self.is_dynamic),
                ("schema_mode='overwrite'", self.schema_mode == "overwrite"),
            ):
                if given:
                    raise InvalidOptionError(f"{name} needs mode='overwrite', not mode={self.mode!r}")
        if self.is_dynamic and (self.predicate is not None or self.schema_mode == "overwrite"):
            raise InvalidOptionError(
                "partition_overwrite_mode='dynamic' excludes predicate and schema_mode='overwrite'; leave one"
                " of them out"
            )

    @property
    def is_dynamic(self) -> bool:
        """Whether an overwrite replaces exactly the partitions of the written rows."""
        return self.partition_overwrite_mode == "dynamic"

    @property
    def replaces_rows(self) -> bool:
        """Whether the write removes rows of the table."""
        return self.mode == "overwrite"


def _ensure_one_of(name: str, value: str | None, words: Sequence[str | None]) -> None:
    if value not in words:
        raise ValueError(f"{name} is one of {', '.join(map(str, words))}, not {value!r}")


def parse_spark_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Translate options of Spark's Delta writer to arguments of `write_deltalake`.

    Names are case-insensitive; values are strings, booleans or integers.

    Raises `ValueError` for an unknown option and for an invalid value.

    >>> parse_spark_options({"replaceWhere": "day = '2026-01-01'", "mergeSchema": "true"})
    {'predicate': "day = '2026-01-01'", 'schema_mode': 'merge'}
    """
    given = {}
    for name, value in options.items():
        known = _SPELLED.get(name.lower())
        if known is None:
            meant = did_you_mean(name, SPARK_OPTIONS)
            raise ValueError(f"unknown option {name!r}{meant} (options: {', '.join(SPARK_OPTIONS)})")
        given[known] = value
    arguments: dict[str, Any] = {}
    if (condition := given.get("replaceWhere")) is not None:
        arguments["predicate"] = condition
    if _CHECKS_PREDICATE in given:
        arguments["checks_predicate"] = _is_true(given, _CHECKS_PREDICATE)
    if (mode := given.get("partitionOverwriteMode")) is not None:
        arguments["partition_overwrite_mode"] = str(mode).lower()
    if _is_true(given, "mergeSchema"):
        arguments["schema_mode"] = "merge"
    if _is_true(given, "overwriteSchema"):
        arguments["schema_mode"] = "overwrite"
    if (user := given.get("userMetadata")) is not None:
        arguments["user_metadata"] = str(user)
    if ("txnAppId" in given) != ("txnVersion" in given):
        missing = "txnVersion" if "txnAppId" in given else "txnAppId"
        raise ValueError(f"the option {missing} is missing; txnAppId and txnVersion must be given together")
    if "txnAppId" in given:
        version = str(given["txnVersion"])
        if not version.isdecimal():
            raise ValueError(f"txnVersion is an integer from 0 on, not {version!r}")
        arguments["application"] = Transaction(str(given["txnAppId"]), int(version))
    if "optimizeWrite" in given:
        arguments["optimize_write"] = _is_true(given, "optimizeWrite")
    if compaction := _auto_compaction(given):
        arguments["auto_compact"] = compaction
    return arguments


def _auto_compaction(given: Mapping[str, Any]) -> AutoCompaction | None:
    """Return what settings of Spark's sessions say of auto compaction; None for nothing."""
    settings = {
        name.removeprefix(_AUTO_COMPACT): str(value)
        for name, value in given.items()
        if name.startswith(_AUTO_COMPACT)
    }
    if not settings:
        return None
    enabled = settings.pop("enabled", None)
    arguments: dict[str, Any] = {"enabled": None}
    if enabled is not None:
        arguments["enabled"] = _is_true({"enabled": enabled}, "enabled")
    for name, text in settings.items():
        try:
            arguments[_SNAKE_CASE[name]] = parse_size(text)
        except ValueError:
            raise ValueError(f"{_AUTO_COMPACT}{name} is a number from 1 on, not {text!r}") from None
    return AutoCompaction(**arguments)


def _is_true(options: Mapping[str, Any], name: str) -> bool:
    text = str(options.get(name, "false")).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {options[name]!r}")
    return text == "true"
