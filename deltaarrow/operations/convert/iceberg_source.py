"""The files of an Iceberg table: its metadata, and the manifests of the current snapshot.

Chapters *Table Metadata*, *Snapshots* and *Manifests* of Iceberg's specification. Locations are absolute
there. Anybody may have written them, so only those below the folder of the table are followed. Which file of
metadata is current is known to the catalog, or to ``metadata/version-hint.text``; else it is the one with the
greatest number, if only one has it:

==========================================  ===============================
name                                        who writes it
==========================================  ===============================
``00003-<uuid>.metadata.json``              a table in a catalog
``v3.metadata.json``, ``v3.gz.metadata.json``  a table without a catalog
==========================================  ===============================
"""

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deltaarrow.errors import CorruptLogError, DeltaError, MissingFilesError, UnsupportedFeatureError
from deltaarrow.iceberg.file_io import METADATA_FOLDER, StoreFiles
from deltaarrow.runtime.optional import require
from deltaarrow.storage import FileEntry, Store

_manifest = require("pyiceberg.manifest")
_metadata = require("pyiceberg.table.metadata")

__all__ = ["IcebergSource", "LiveFile", "read_iceberg_source"]

_HINT = f"{METADATA_FOLDER}/version-hint.text"
_NUMBERED = re.compile(r"(?:v(\d+)|(\d+)-[^/]*?)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_MAX_METADATA_BYTES = 1 << 30


@dataclass(frozen=True)
class LiveFile:
    """A data file of the current snapshot, its number of rows as told, and its raw partition values."""

    entry: FileEntry
    num_rows: int
    partition: tuple[Any, ...]


@dataclass(frozen=True)
class IcebergSource:
    """An Iceberg table: its ``TableMetadata``, and the files of its current snapshot, sorted by name."""

    metadata_file: str
    metadata: Any
    files: list[LiveFile]


def read_iceberg_source(store: Store, metadata_file: str | None = None) -> IcebergSource:
    """Read the metadata and the manifests of the Iceberg table in a folder.

    Raises `CorruptLogError` where they are damaged, ambiguous or lead out of the folder, `MissingFilesError`
    for a file that is gone, and `UnsupportedFeatureError` for deleted rows, files that are not Parquet, and
    files of an earlier partition spec.
    """
    files = StoreFiles(store)
    name = files.name_of(metadata_file) if metadata_file else _current_metadata(store)
    with _reading(store, name, "the metadata of an Iceberg table"):
        metadata = _metadata.TableMetadataUtil.parse_raw(_inflated(store.read(name), name).decode())
    snapshot = metadata.current_snapshot()
    if snapshot is None:
        return IcebergSource(name, metadata, [])
    if not snapshot.manifest_list:
        raise UnsupportedFeatureError(
            f"{name} of {store.uri} has no manifest list, as of an early version of Iceberg; commit to the"
            " table with a newer version",
            feature="Iceberg snapshots without a manifest list",
        )
    entries = {entry.name: entry for entry in store.list_recursive()}
    found: dict[str, LiveFile] = {}
    for told in _data_files(files, snapshot.manifest_list, metadata.default_spec_id):
        path = files.name_of(told.file_path)
        if path in found:
            raise CorruptLogError(f"the manifests of {store.uri} list {path} twice")
        entry = entries.get(path)
        if entry is None:
            raise MissingFilesError(
                f"the file {path} of the Iceberg table {store.uri} is gone; bring it back, or remove it from"
                " that table",
                files=[path],
            )
        if entry.size != told.file_size_in_bytes:
            raise CorruptLogError(
                f"{path} of {store.uri} has {entry.size} bytes, and {told.file_size_in_bytes} in its manifest"
            )
        values = tuple(told.partition[place] for place in range(len(told.partition)))
        found[path] = LiveFile(entry, told.record_count, values)
    return IcebergSource(name, metadata, [found[path] for path in sorted(found)])


def _current_metadata(store: Store) -> str:
    """Return the name of the newest metadata; raises `CorruptLogError` if that is not known."""
    numbers: dict[int, list[str]] = {}
    bases = []
    for entry in store.list_from(METADATA_FOLDER):
        base = entry.name.rpartition("/")[2]
        if match := _NUMBERED.fullmatch(base):
            numbers.setdefault(int(match[1] or match[2]), []).append(base)
            bases.append(base)
    if store.exists(_HINT):
        hint = store.read(_HINT).decode(errors="replace").strip()
        if hint.isdecimal():
            # A table without a catalog commits by a rename: a greater number is a newer version.
            plain = [number for number, names in numbers.items() if any(base[0] == "v" for base in names)]
            hinted = max((number for number in plain if number >= int(hint)), default=-1)
            newest = [base for base in numbers.get(hinted, ()) if base[0] == "v"]
        else:
            newest = [base for base in bases if base in (hint, f"{hint}.metadata.json")]
        if len(newest) != 1:
            raise CorruptLogError(f"{_HINT} of {store.uri} names the version {hint!r}, which is not there")
    else:
        newest = numbers[max(numbers)] if numbers else []
        if len(newest) != 1:
            why = f"{' and '.join(sorted(newest))} have the same number" if newest else "there is none"
            raise CorruptLogError(
                f"the newest metadata of the Iceberg table {store.uri} is not known: {why}; give the file"
                " that the catalog names, with iceberg_metadata"
            )
    return f"{METADATA_FOLDER}/{newest[0]}"


def _inflated(data: bytes, name: str) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    inflater = zlib.decompressobj(wbits=31)
    found = inflater.decompress(data, _MAX_METADATA_BYTES)
    if not inflater.eof:
        raise CorruptLogError(f"{name} is cut off, or too large")
    return found


@contextmanager
def _reading(store: Store, name: str, kind: str) -> Iterator[None]:
    """Say which file it is that is gone, or that is not what it should be."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFilesError(
            f"the file {name} of the Iceberg table {store.uri} is gone", files=[name]
        ) from error
    except (DeltaError, OSError):
        raise
    except Exception as error:
        raise CorruptLogError(f"{name} of {store.uri} is not {kind}") from error


def _data_files(files: StoreFiles, manifest_list: str, spec_id: int) -> Iterator[Any]:
    uri = files.store.uri
    with _reading(files.store, files.name_of(manifest_list), "a manifest list"):
        manifests = list(_manifest.read_manifest_list(files.new_input(manifest_list)))
    for manifest in manifests:
        with _reading(files.store, files.name_of(manifest.manifest_path), "a manifest"):
            entries = manifest.fetch_manifest_entry(files)
        for entry in entries:
            told = entry.data_file
            if manifest.content != _manifest.ManifestContent.DATA or (
                told.content != _manifest.DataFileContent.DATA
            ):
                raise UnsupportedFeatureError(
                    f"the Iceberg table {uri} has deleted rows in {told.file_path}; compact it with Iceberg"
                    " first, so that no delete file is left",
                    feature="conversion of Iceberg delete files",
                )
            if told.file_format != _manifest.FileFormat.PARQUET:
                raise UnsupportedFeatureError(
                    f"{told.file_path} of the Iceberg table {uri} is of the format {told.file_format.value};"
                    " Delta tables have Parquet files, so rewrite it with Iceberg first",
                    feature=f"conversion of {told.file_format.value} files",
                )
            if manifest.partition_spec_id != spec_id:
                raise UnsupportedFeatureError(
                    f"{told.file_path} of the Iceberg table {uri} has an earlier partition spec; rewrite it"
                    " with Iceberg first (Spark: partition evolution)",
                    feature="conversion of evolved Iceberg partitions",
                )
            yield told
