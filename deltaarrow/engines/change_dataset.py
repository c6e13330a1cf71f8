"""A change data feed as a `pyarrow.dataset.Dataset`, the source of DuckDB views and Polars lazy frames.

Its rows are those of a `deltaarrow.scan.ChangePlan`, read by `deltaarrow.scan.ChangeReader`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from deltaarrow.display.redaction import redacted
from deltaarrow.engines.dataset import LogDataset
from deltaarrow.engines.polars.batch_frames import filtered_frames
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

    `deltaarrow.DeltaTable.change_data_feed` returns one. Filters are applied exactly; filters on the feed's
    own columns, on partition columns and on columns with statistics skip files.
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
        """The versions of the changes."""
        return self._changes.versions

    @property
    def logical_schema(self) -> Schema:
        """The schema in Delta types."""
        return self._changes.schema

    @property
    def files(self) -> list[str]:
        """The locations of the files; one file may hold changes of several versions."""
        store = self._changes.store
        return [store.location(path) for path in dict.fromkeys(task.path for task in self._changes.tasks)]

    def get_fragments(self, filter: pc.Expression | None = None) -> Iterator[Any]:
        """Refuse: a file of the feed may hold rows that did not change."""
        raise UnsupportedFeatureError(
            "a change data feed has no fragments; use .scanner(), .to_table() or .to_batches()",
            feature="get_fragments",
        )

    def to_polars(self) -> "pl.LazyFrame":
        """Return the changes as a `polars.LazyFrame` that streams the columns it needs."""
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
    """The dataset as a Polars source, with Polars's filters applied to its output."""

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
