"""Encoding of data files: `WriterProperties`, with the names and arguments of ``deltalake``.

They become options of pyarrow's Parquet writer. Settings that this writer lacks are refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.features import properties

__all__ = ["BloomFilterProperties", "ColumnProperties", "ParquetLeaf", "WriterProperties", "file_suffix"]


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


@dataclass(frozen=True)
class WriterProperties:
    """How the Parquet files of a write are encoded; None is the library's default.

    Args:
        data_page_size_limit: approximate bytes in a data page.
        dictionary_page_size_limit: bytes in a dictionary, after which the column continues without one.
        data_page_row_count_limit: rows in a data page.
        write_batch_size: values that are encoded at once.
        max_row_group_size: rows in a row group; 1,048,576 if None, which is also the maximum.
        compression: ``UNCOMPRESSED``, ``SNAPPY``, ``GZIP``, ``BROTLI``, ``LZ4``, ``LZ4_RAW`` or
            ``ZSTD``; if None, the table property decides, or else snappy as in Spark.
        compression_level: of gzip (1 to 9), brotli (0 to 11), zstd (up to 22) or lz4 (1 to 12).
        statistics_truncate_length: refused, because the Parquet writer has no such setting.
        default_column_properties: for columns that are not in `column_properties`.
        column_properties: by logical name; a dot separates the fields of structs.

    >>> WriterProperties(compression="ZSTD", compression_level=3).compression
    'ZSTD'
    """

    data_page_size_limit: int | None = None
    dictionary_page_size_limit: int | None = None
    data_page_row_count_limit: int | None = None
    write_batch_size: int | None = None
    max_row_group_size: int | None = None
    compression: str | None = None
    compression_level: int | None = None
    statistics_truncate_length: int | None = None
    default_column_properties: ColumnProperties | None = None
    column_properties: Mapping[str, ColumnProperties] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.compression is not None and self.compression.lower() not in _CODECS:
            raise ValueError(
                f"unknown compression {self.compression!r}; choose one of"
                f" {', '.join(map(str.upper, _CODECS))}"
            )
        if self.compression_level is not None and self.compression is None:
            raise ValueError("compression_level needs compression; name a codec too")
        if self.compression is not None and self.compression_level is not None:
            _ensure_level(self.compression, self.compression_level)
        if self.max_row_group_size is not None and self.max_row_group_size < 1:
            raise ValueError(f"max_row_group_size must be at least 1, not {self.max_row_group_size}")
        if self.statistics_truncate_length is not None:
            raise UnsupportedFeatureError(
                "statistics_truncate_length is not supported: the Parquet writer cannot cut its bounds",
                feature="statistics_truncate_length",
            )
        object.__setattr__(self, "column_properties", dict(self.column_properties or {}))

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


def _ensure_level(compression: str, level: int) -> None:
    codec = _CODECS[compression.lower()][0]
    if codec == "none" or not pa.Codec.supports_compression_level(codec):
        raise ValueError(f"{compression} has no compression levels; leave out compression_level={level!r}")
    least, most = pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
    if not least <= level <= most:
        raise ValueError(
            f"the compression_level of {compression} must be from {least} to {most}, not {level!r}"
        )


def file_suffix(writer: WriterProperties, configuration: Mapping[str, str]) -> str:
    """The end of a data file's name, which names the codec.

    >>> file_suffix(WriterProperties(), {})
    '.snappy.parquet'
    """
    return f"{_codec(writer, configuration)[1]}.parquet"


def _codec(writer: WriterProperties, configuration: Mapping[str, str]) -> tuple[str, str]:
    wanted = writer.compression or properties.PARQUET_COMPRESSION_CODEC.parse(configuration)
    return _CODECS[(wanted or _DEFAULT_CODEC).lower()]
