"""Encoding of data files: `WriterProperties`, with the names and arguments of ``deltalake``.

They become options of pyarrow's Parquet writer.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import pyarrow as pa

from deltaarrow.features import properties

__all__ = [
    "COLUMN_LISTS",
    "BloomFilterProperties",
    "ColumnProperties",
    "ParquetLeaf",
    "WriterProperties",
    "file_suffix",
]

COLUMN_LISTS = ("use_dictionary", "write_statistics")
"""The arguments of `pyarrow.parquet.ParquetWriter` that `parquet_options` gives as lists of leaf columns."""

_DEFAULT_CODEC = "snappy"
# User's name -> (pyarrow's name, file name ending as parquet-mr writes it).
_CODECS = {
    "uncompressed": ("none", ""),
    "none": ("none", ""),
    "snappy": ("snappy", ".snappy"),
    "gzip": ("gzip", ".gz"),
    "brotli": ("brotli", ".br"),
    "lz4": ("lz4", ".lz4raw"),
    "lz4_raw": ("lz4", ".lz4raw"),
    "zstd": ("zstd", ".zstd"),
}
_DEFAULT_LEVELS = {"gzip": 6, "brotli": 1, "zstd": 1}
"""The levels of ``deltalake``, by pyarrow's name; a codec that only the table names has pyarrow's level."""
_LEVEL = re.compile(r"([^()]+)\((-?\d+)\)")

_PAGE_VERSIONS = {"1.0.0": "1.0", "2.12.0": "2.0"}
"""Data page version by the Parquet version that a table asks for, as in delta-spark."""


class ParquetLeaf(NamedTuple):
    """A column of a Parquet file."""

    name: str
    """Its logical name, parts joined by dots."""
    path: str
    """Its path in the file, parts joined by dots."""
    type: pa.DataType


@dataclass(frozen=True)
class BloomFilterProperties:
    """The Bloom filter of a column.

    Args:
        set_bloom_filter_enabled: whether the column has a Bloom filter.
        fpp: the share of false positives, between 0 and 1; the library's default if None.
        ndv: the number of distinct values expected in a row group; the library's default if None.
    """

    set_bloom_filter_enabled: bool | None = None
    fpp: float | None = None
    ndv: int | None = None

    def __post_init__(self) -> None:
        if self.fpp is not None and not 0 < self.fpp < 1:
            raise ValueError(f"fpp must be between 0 and 1, both excluded, not {self.fpp!r}")

    def __str__(self) -> str:
        """The properties on one line."""
        return _line(self)


@dataclass(frozen=True)
class ColumnProperties:
    """How one column is encoded; None is the library's default.

    Args:
        dictionary_enabled: whether values are stored as indices into a dictionary.
        statistics_enabled: ``NONE`` leaves a column without statistics in the file and, except for the
            count of NULLs, in the log. ``CHUNK`` and ``PAGE`` write them.
        bloom_filter_properties: its Bloom filter.
        encoding: the encoding without a dictionary, such as ``DELTA_BINARY_PACKED``.
    """

    dictionary_enabled: bool | None = None
    statistics_enabled: str | None = None
    bloom_filter_properties: BloomFilterProperties | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.dictionary_enabled and self.encoding:
            raise ValueError("Cannot specify dictionary_enabled=True and encoding; give one of them")
        if self.statistics_enabled not in (None, "NONE", "CHUNK", "PAGE"):
            raise ValueError(
                f"statistics_enabled must be NONE, CHUNK or PAGE, not {self.statistics_enabled!r}"
            )

    def __str__(self) -> str:
        """The properties on one line."""
        return _line(self)


@dataclass(init=False)
class WriterProperties:
    """How the Parquet files of a write are encoded; None is the library's default.

    Attributes can be assigned. `compression` then has the codec and its level: ``ZSTD(3)``.

    Args:
        data_page_size_limit: approximate bytes in a data page.
        dictionary_page_size_limit: bytes in a dictionary, after which the column continues without one.
        data_page_row_count_limit: rows in a data page.
        write_batch_size: values that are encoded at once.
        max_row_group_size: rows in a row group; 1,048,576 if None, which is also the maximum.
        compression: ``UNCOMPRESSED``, ``SNAPPY``, ``GZIP``, ``BROTLI``, ``LZ4``, ``LZ4_RAW`` or
            ``ZSTD``, in any case, or one of them with its level in brackets; if None, the table property
            decides, or else snappy as in Spark.
        compression_level: of gzip (0 to 9; 6 if None), brotli (0 to 11; 1 if None), zstd (1 to 22, or
            negative; 1 if None) or lz4 (1 to 12).
        statistics_truncate_length: characters that bounds of texts keep in the log; if None, the table
            property decides, or else 32 as in Spark. The footers of files keep bounds whole.
        default_column_properties: for columns that are not in `column_properties`.
        column_properties: by logical name; a dot separates the fields of structs.

    Raises:
        ValueError: an argument has an impossible value.

    >>> WriterProperties(compression="zstd", compression_level=3).compression
    'ZSTD(3)'
    """

    data_page_size_limit: int | None
    dictionary_page_size_limit: int | None
    data_page_row_count_limit: int | None
    write_batch_size: int | None
    max_row_group_size: int | None
    compression: str | None
    statistics_truncate_length: int | None
    default_column_properties: ColumnProperties | None
    column_properties: Mapping[str, ColumnProperties]

    def __init__(
        self,
        data_page_size_limit: int | None = None,
        dictionary_page_size_limit: int | None = None,
        data_page_row_count_limit: int | None = None,
        write_batch_size: int | None = None,
        max_row_group_size: int | None = None,
        compression: str | None = None,
        compression_level: int | None = None,
        statistics_truncate_length: int | None = None,
        default_column_properties: ColumnProperties | None = None,
        column_properties: Mapping[str, ColumnProperties] | None = None,
    ) -> None:
        if compression_level is not None and compression is None:
            raise ValueError("compression_level needs compression; name a codec too")
        self.data_page_size_limit = data_page_size_limit
        self.dictionary_page_size_limit = dictionary_page_size_limit
        self.data_page_row_count_limit = data_page_row_count_limit
        self.write_batch_size = write_batch_size
        self.max_row_group_size = max_row_group_size
        self.compression = compression if compression_level is None else f"{compression}({compression_level})"
        self.statistics_truncate_length = statistics_truncate_length
        self.default_column_properties = default_column_properties
        self.column_properties = column_properties or {}

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign an attribute; raises `ValueError` for an impossible value."""
        if name == "compression" and value is not None:
            value = _compression_text(value)
        elif name in ("max_row_group_size", "statistics_truncate_length") and value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
        elif name == "column_properties":
            value = dict(value or {})
        super().__setattr__(name, value)

    @property
    def compression_level(self) -> int | None:
        """The level in `compression`; None if it has none."""
        return _codec_and_level(self.compression)[1] if self.compression else None

    def __str__(self) -> str:
        """The properties on one line."""
        names = ", ".join(f"column '{name}': {each}" for name, each in self.column_properties.items())
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["column_properties"] = names or None
        return f"WriterProperties({', '.join(f'{name}: {value}' for name, value in values.items())})"

    def parquet_options(
        self, configuration: Mapping[str, str], leaves: Sequence[ParquetLeaf]
    ) -> dict[str, Any]:
        """Keyword arguments for `pyarrow.parquet.ParquetWriter`.

        Args:
            configuration: the table's properties.
            leaves: the leaf columns of the file.

        Raises:
            InvalidTablePropertyError: the table properties name a codec or a version of Parquet that does not
                exist.
        """
        options: dict[str, Any] = {
            "data_page_size": self.data_page_size_limit,
            "dictionary_pagesize_limit": self.dictionary_page_size_limit,
            "max_rows_per_page": self.data_page_row_count_limit,
            "write_batch_size": self.write_batch_size,
            "data_page_version": _PAGE_VERSIONS[properties.PARQUET_FORMAT_VERSION.parse(configuration)],
            "compression": _codec(self, configuration)[0],
            "compression_level": self.compression_level,
        }
        options = {key: value for key, value in options.items() if value is not None}
        columns = {leaf.path: self._of_column(leaf.name) for leaf in leaves}
        # The footer's bounds leave NaN out. Spark treats NaN as the greatest value and would skip row groups
        # that hold it. The bounds in the log do not leave NaN out.
        options["write_statistics"] = [
            leaf.path
            for leaf in leaves
            if not pa.types.is_floating(leaf.type) and columns[leaf.path].statistics_enabled != "NONE"
        ]
        options["use_dictionary"] = [
            path
            for path, each in columns.items()
            if each.dictionary_enabled is not False and not each.encoding
        ]
        encodings = {path: each.encoding for path, each in columns.items() if each.encoding}
        filters = {
            path: {key: value for key, value in (("fpp", bloom.fpp), ("ndv", bloom.ndv)) if value is not None}
            for path, each in columns.items()
            if (bloom := each.bloom_filter_properties) and bloom.set_bloom_filter_enabled is not False
        }
        if encodings:
            options["column_encoding"] = encodings
        if filters:
            options["bloom_filter_options"] = filters
        return options

    def open_dictionaries(self, leaves: Iterable[ParquetLeaf]) -> list[str]:
        """The paths of the leaves for which the properties do not decide about a dictionary."""
        return [leaf.path for leaf in leaves if self._of_column(leaf.name).dictionary_enabled is None]

    def _of_column(self, name: str) -> ColumnProperties:
        # The most specific name wins: ``a.b`` over ``a``. Unset values come from the default properties.
        parts = name.split(".")
        names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
        found = (self.column_properties[each] for each in names if each in self.column_properties)
        chosen = next(found, ColumnProperties())
        default = self.default_column_properties
        if default is None:
            return chosen
        unsaid = {
            each.name: getattr(default, each.name)
            for each in fields(chosen)
            if getattr(chosen, each.name) is None
        }
        if chosen.encoding or chosen.dictionary_enabled:
            # An encoding and a dictionary exclude each other.
            unsaid = {
                key: value for key, value in unsaid.items() if key not in ("encoding", "dictionary_enabled")
            }
        return replace(chosen, **unsaid)


def _line(record: Any) -> str:
    return ", ".join(f"{each.name}: {getattr(record, each.name)}" for each in fields(record))


def _compression_text(compression: str) -> str:
    """A codec and its level as ``deltalake`` spells them; raises `ValueError` if there is no such thing."""
    name, level = _codec_and_level(compression)
    if name.lower() not in _CODECS:
        raise ValueError(
            f"unknown compression {compression!r}; choose one of {', '.join(map(str.upper, _CODECS))}"
        )
    codec = _CODECS[name.lower()][0]
    if level is None:
        level = _DEFAULT_LEVELS.get(codec)
    else:
        _ensure_level(name, codec, level)
    return name.upper() if level is None else f"{name.upper()}({level})"


def _codec_and_level(compression: str) -> tuple[str, int | None]:
    found = _LEVEL.fullmatch(compression)
    return (found[1], int(found[2])) if found else (compression, None)


def _ensure_level(name: str, codec: str, level: int) -> None:
    if codec == "none" or not pa.Codec.supports_compression_level(codec):
        raise ValueError(f"{name} has no compression levels; leave out compression_level={level!r}")
    least, most = pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
    if codec == "gzip":
        least = 0  # It stores without compression.
    if not least <= level <= most or (codec == "zstd" and level == 0):
        raise ValueError(
            f"the compression_level of {name} must be from {least} to {most}"
            f"{' and not 0' if codec == 'zstd' else ''}, not {level!r}"
        )


def file_suffix(writer: WriterProperties, configuration: Mapping[str, str]) -> str:
    """The end of a data file's name, which names the codec.

    >>> file_suffix(WriterProperties(), {})
    '.snappy.parquet'
    """
    return f"{_codec(writer, configuration)[1]}.parquet"


def _codec(writer: WriterProperties, configuration: Mapping[str, str]) -> tuple[str, str]:
    own = _codec_and_level(writer.compression)[0] if writer.compression else None
    wanted = own or properties.PARQUET_COMPRESSION_CODEC.parse(configuration)
    return _CODECS[(wanted or _DEFAULT_CODEC).lower()]
