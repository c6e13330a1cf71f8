"""A dataset whose results have Arrow types that the caller chooses, such as ``large_string`` or dictionaries.

Scans filter with the types of the table and cast what they return. The given types hold the same values: each
stands for the Delta type of its column, so no filter finds other rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from deltaarrow.columnar.numpy_arrays import is_text_or_binary
from deltaarrow.engines.dataset import DeltaDataset, DeltaFragment
from deltaarrow.engines.scanner import Columns, DeltaScanner
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.expressions import Predicate
from deltaarrow.scan import FileTask, Given, RowCondition
from deltaarrow.schema import from_arrow_field
from deltaarrow.snapshot import Snapshot

__all__ = ["TypedDataset", "TypedScanner", "chosen_types"]


def chosen_types(
    snapshot: Snapshot,
    schema: pa.Schema | None = None,
    as_large_types: bool = False,
    dictionary_columns: Sequence[str] = (),
) -> pa.Schema:
    """Return the schema of results: `schema`, or the columns of the table with other types.

    Raises `SchemaMismatchError` for a column that is not in the table, or whose type is another in Delta, and
    `UnsupportedFeatureError` for a dictionary whose values are neither string nor binary.
    """
    own = snapshot.schema
    shown = own.to_arrow(as_large_types) if schema is None else schema
    for given in shown:
        meant = own.field(given.name)
        if meant.name != given.name or from_arrow_field(given).type != meant.type:
            raise SchemaMismatchError(
                f"the column {meant.name!r} is of type {meant.type}, for which the given schema has"
                f" {given.name!r} of {given.type}; leave it out and cast the result"
            )
    for name in sorted(dictionary_columns):
        own.field(name)  # refuses an unknown name
        place = shown.get_field_index(name)
        if place < 0:
            continue
        column = shown.field(place)
        if pa.types.is_dictionary(column.type):
            continue
        if not is_text_or_binary(column.type):
            raise UnsupportedFeatureError(
                f"the column {name!r} of type {column.type} has no texts or binaries, which"
                " dictionary_columns are for; cast the column of the result",
                feature="dictionary_columns",
            )
        shown = shown.set(place, column.with_type(pa.dictionary(pa.int32(), column.type)))
    return shown


class TypedScanner(DeltaScanner):
    """A scan whose results are cast to the types of a schema."""

    def __init__(self, scanner: DeltaScanner, shown: pa.Schema) -> None:
        super().__init__(scanner._plan, scanner._reader, scanner._columns, scanner._conditions)
        self._scanner = scanner
        self._shown = shown

    @property
    def dataset_schema(self) -> pa.Schema:
        """The schema of the whole dataset."""
        return self._shown

    @property
    def projected_schema(self) -> pa.Schema:
        """The schema of the result."""
        own = self._scanner.projected_schema
        if isinstance(self._columns, Mapping):
            typed = pads.Scanner.from_batches([], schema=self._shown, columns=self._columns).projected_schema
        else:
            typed = self._shown
        known = set(typed.names)
        return pa.schema([typed.field(each.name) if each.name in known else each for each in own])

    def read(self, tasks: Sequence[FileTask]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some files of the plan in batches, none of them empty."""
        schema = self.projected_schema
        for batch in self._scanner.read(tasks):
            arrays = [array.cast(each.type) for array, each in zip(batch.columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


class TypedDataset(DeltaDataset):
    """A `DeltaDataset` with the columns and types of `shown`, a result of `chosen_types`."""

    def __init__(
        self,
        snapshot: Snapshot,
        conditions: Given,
        file_predicate: Predicate | None,
        shown: pa.Schema,
    ) -> None:
        self._shown = shown
        super().__init__(snapshot, conditions, file_predicate, shown=shown)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the snapshot, the filters and the types, including `storage_options`."""
        return type(self), (self._snapshot, self._conditions, self._file_predicate, self._shown)

    def _conditioned(self, conditions: tuple[RowCondition, ...]) -> "TypedDataset":
        found = type(self)(self._snapshot, conditions, self._file_predicate, self._shown)
        found._files = self._files
        return found

    def scanner(self, columns: Columns = None, filter: Given = None, **options: Any) -> DeltaScanner:
        """Return a scan, as `DeltaDataset.scanner` does, with the types of the dataset."""
        return self._shown_scan(super().scanner(columns, filter, **options))

    def _shown_scan(self, scanner: DeltaScanner) -> DeltaScanner:
        return TypedScanner(scanner, self._shown)

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[DeltaFragment]:
        """Refuse: fragments have the types of the table."""
        raise UnsupportedFeatureError(
            "fragments have the types of the table: leave out schema, as_large_types and dictionary_columns,"
            " and cast what a fragment returns",
            feature="get_fragments",
        )

    def replace_schema(self, schema: pa.Schema) -> pads.InMemoryDataset:
        """Return the rows in memory with another schema, as `pyarrow.dataset.dataset` wants for a union.

        Raises `SchemaMismatchError` for a column that is not in the table, or whose type is another in Delta.
        """
        shown = chosen_types(self._snapshot, schema)
        typed = type(self)(self._snapshot, self._conditions, self._file_predicate, shown)
        return pads.InMemoryDataset(typed.to_table().cast(schema))
