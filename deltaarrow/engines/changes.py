"""A change data feed as a `pyarrow.dataset.Dataset`, and through it as a DuckDB view and a Polars lazy frame.

It has the rows of a `deltaarrow.scan.ChangePlan`, which `deltaarrow.scan.ChangeReader` reads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from deltaarrow.display.redaction import redacted
from deltaarrow.engines.dataset import LogDataset
from deltaarrow.engines.polars_frames import filtered_frames
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.expressions import Predicate
from deltaarrow.runtime.optional import require
from deltaarrow.scan import ChangePlan, ChangeReader, Given, RowCondition
from deltaarrow.schema import Schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ChangeDataset"]


class ChangeDataset(LogDataset):
    """The rows that changed in a range of versions; picklable.

    `deltaarrow.DeltaTable.change_data_feed` makes one. Filters are applied exactly; those on the
    columns of the feed, on partition columns and on statistics leave out files.
    """

    def __init__(self, plan: ChangePlan, conditions: Given = None) -> None:
        self._changes = plan
        super().__init__(plan.layout.arrow_schema, conditions)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the plan and the filter."""
        return type(self), (self._changes, self._conditions)

    def __repr__(self) -> str:
        return f"ChangeDataset({redacted(self._changes.store.uri)!r}, {self._changes!r})"

    def _plan(self, predicate: Predicate | None, columns: Sequence[str]) -> ChangePlan:
        return self._changes.narrow(predicate, columns)

    def _reader(self, plan: ChangePlan, options: Mapping[str, Any]) -> ChangeReader:
        return ChangeReader(plan, **options)

    def _conditioned(self, conditions: tuple[RowCondition, ...]) -> "ChangeDataset":
        return ChangeDataset(self._changes, conditions)

    @property
    def versions(self) -> range:
        """The versions whose changes these are."""
        return self._changes.versions

    @property
    def logical_schema(self) -> Schema:
        """The schema in Delta's types."""
        return self._changes.schema

    @property
    def files(self) -> list[str]:
        """Where the files are; one may hold changes of several versions."""
        store = self._changes.store
        return [store.location(path) for path in dict.fromkeys(task.path for task in self._changes.tasks)]

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Any]:
        """Refuse: a file of the feed may hold rows that did not change."""
        raise UnsupportedFeatureError(
            "a change data feed has no fragments; use .scanner(), .to_table() or .to_batches()",
            feature="get_fragments",
        )

    def to_polars(self) -> "pl.LazyFrame":
        """Return the changes as a `polars.LazyFrame`, which reads the wanted columns as a stream."""
        register_io_source = require("polars.io.plugins").register_io_source
        frame: pl.LazyFrame = register_io_source(
            _PolarsSource(self),
            schema=require("polars").DataFrame(self.schema.empty_table()).schema,
            is_pure=True,
            explain_name="deltaarrow",
            explain_detail=repr(self._changes),
        )
        return frame


@dataclass(frozen=True)
class _PolarsSource:
    """The dataset as a source of Polars's, which applies its filters to what comes out."""

    dataset: ChangeDataset

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: "pl.Expr | None",
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator["pl.DataFrame"]:
        batches = self.dataset.to_batches(columns=with_columns)
        return filtered_frames(batches, predicate, n_rows)
