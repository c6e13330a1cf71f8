"""What a writer is asked to do with rows: `WriteOptions`, and Spark's spelling of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.operations.commit_properties import Transaction
from deltaarrow.write import WriterProperties

__all__ = ["SPARK_OPTIONS", "WriteOptions", "parse_spark_options"]

_MODES = ("append", "overwrite", "error", "ignore")
SPARK_OPTIONS = (
    "replaceWhere",
    "partitionOverwriteMode",
    "mergeSchema",
    "overwriteSchema",
    "txnAppId",
    "txnVersion",
    "userMetadata",
)
"""The names of the options of Spark's Delta writer that `parse_spark_options` takes."""

_SPELLED = {name.lower(): name for name in SPARK_OPTIONS}


@dataclass(frozen=True, kw_only=True)
class WriteOptions:
    """How rows are written to a table.

    Args:
        mode: ``append``, ``overwrite``, ``error`` or ``ignore``; what the last two mean for a table that
            exists is decided before a write begins.
        partition_by: the partition columns, None for those that the table has.
        cluster_by: the clustering columns of a new table, or those that the table has; None for these
            too, but for an overwrite of all rows, which leaves the table none.
        schema_mode: ``merge`` adds columns that the table lacks and widens types where it may,
            ``overwrite`` gives the table the schema of the data; None keeps the schema.
        predicate: the rows that an overwrite replaces, in Spark SQL; all of them if None.
        partition_overwrite_mode: ``dynamic`` replaces the partitions that rows are written to and no
            others, ``static`` all rows.
        target_file_size: bytes after which a file is closed and another begun.
        writer_properties: how Parquet is written.
        applications: the progress of applications, committed along with the rows.
        name, description, configuration: of a table that the write makes.

    Raises:
        ValueError: a word is unknown, or two of them do not go together.
    """

    mode: str = "error"
    partition_by: Sequence[str] | None = None
    cluster_by: Sequence[str] | None = None
    schema_mode: str | None = None
    predicate: str | None = None
    partition_overwrite_mode: str = "static"
    target_file_size: int | None = None
    writer_properties: WriterProperties | None = None
    applications: Sequence[Transaction] = ()
    name: str | None = None
    description: str | None = None
    configuration: Mapping[str, str] = field(default_factory=dict)

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
                    raise ValueError(f"{name} is for mode='overwrite', not for mode={self.mode!r}")
        if sum((self.predicate is not None, self.is_dynamic, self.schema_mode == "overwrite")) > 1:
            raise ValueError(
                "predicate, partition_overwrite_mode='dynamic' and schema_mode='overwrite' exclude one"
                " another: rows that stay keep their schema, and one thing says which they are"
            )

    @property
    def is_dynamic(self) -> bool:
        """Whether the partitions that are written to are the ones that are replaced."""
        return self.partition_overwrite_mode == "dynamic"

    @property
    def replaces_rows(self) -> bool:
        """Whether rows of the table go."""
        return self.mode == "overwrite"


def _ensure_one_of(name: str, value: str | None, words: Sequence[str | None]) -> None:
    if value not in words:
        raise ValueError(f"{name} is one of {', '.join(map(str, words))}, not {value!r}")


def parse_spark_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `write_deltalake` that options of Spark's Delta writer stand for.

    Names are taken in any case, values are texts or what they stand for.

    Raises `ValueError` for an option that is not known or means nothing.

    >>> parse_spark_options({"replaceWhere": "day = '2026-01-01'", "mergeSchema": "true"})
    {'predicate': "day = '2026-01-01'", 'schema_mode': 'merge'}
    """
    given = {}
    for name, value in options.items():
        known = _SPELLED.get(name.lower())
        if known is None:
            raise ValueError(f"{name!r} is none of the options {', '.join(SPARK_OPTIONS)}")
        given[known] = value
    arguments: dict[str, Any] = {}
    if (condition := given.get("replaceWhere")) is not None:
        arguments["predicate"] = condition
    if (mode := given.get("partitionOverwriteMode")) is not None:
        arguments["partition_overwrite_mode"] = str(mode).lower()
    if _is_true(given, "mergeSchema"):
        arguments["schema_mode"] = "merge"
    if _is_true(given, "overwriteSchema"):
        arguments["schema_mode"] = "overwrite"
    if (user := given.get("userMetadata")) is not None:
        arguments["user_metadata"] = str(user)
    if ("txnAppId" in given) != ("txnVersion" in given):
        raise ValueError("txnAppId and txnVersion are given together or not at all")
    if "txnAppId" in given:
        version = str(given["txnVersion"])
        if not version.isdecimal():
            raise ValueError(f"txnVersion is an integer that is not negative, not {version!r}")
        arguments["application"] = Transaction(str(given["txnAppId"]), int(version))
    return arguments


def _is_true(options: Mapping[str, Any], name: str) -> bool:
    text = str(options.get(name, "false")).lower()
    if text not in ("true", "false"):
        raise ValueError(f"{name} is true or false, not {options[name]!r}")
    return text == "true"
