"""Advice on a table in words, each with the call to make."""

from collections.abc import Iterator
from dataclasses import dataclass

from deltaarrow.display.html_parts import byte_size, number
from deltaarrow.table.report.facts import TableFacts

__all__ = ["Advice", "advise"]

_FEW_FILES = 10
_SMALL_PARTITION = 32 << 20
_MANY_PARTITIONS = 100
_POOR_SKIPPING = 0.5
_DEAD_ROWS = 0.05
_WORTH_A_REWRITE = 0.1
"""The share of files that a compaction must save, so that it is advised."""


@dataclass(frozen=True)
class Advice:
    """What to do, why, and how."""

    what: str
    why: str
    how: str


def advise(facts: TableFacts) -> list[Advice]:
    """Return what is worth doing, the most useful first."""
    return [
        *_on_files(facts),
        *_on_deleted_rows(facts),
        *_on_statistics(facts),
        *_on_layout(facts),
        *_on_log(facts),
    ]


def _on_files(facts: TableFacts) -> Iterator[Advice]:
    forecast = facts.compaction
    if forecast is not None and forecast.num_files:
        saved = forecast.num_files - forecast.num_new_files
        if saved >= max(2, _WORTH_A_REWRITE * facts.num_files):
            yield Advice(
                "Compact small files",
                f"OPTIMIZE would rewrite {number(forecast.num_files)} files"
                f" ({byte_size(forecast.num_bytes)}) into {number(forecast.num_new_files)}. Queries that open"
                " fewer files are faster.",
                "table.optimize.compact()",
            )
    per_partition = facts.num_bytes / max(1, facts.num_partitions)
    if facts.num_partitions >= _MANY_PARTITIONS and per_partition < _SMALL_PARTITION:
        yield Advice(
            "Use coarser partitions, or clustering instead of partitions",
            f"The {number(facts.num_partitions)} partitions hold {byte_size(per_partition)} each on average."
            " Files cannot be larger than their partition.",
            "write_deltalake(..., cluster_by=[...])",
        )


def _on_deleted_rows(facts: TableFacts) -> Iterator[Advice]:
    held = facts.num_deleted + facts.num_rows
    if facts.num_deleted and facts.num_deleted > _DEAD_ROWS * held:
        yield Advice(
            "Purge deleted rows",
            f"Files still hold {number(facts.num_deleted)} deleted rows, {facts.num_deleted / held:.0%} of"
            " all. Readers read them and throw them away.",
            "table.optimize.purge()",
        )


def _on_statistics(facts: TableFacts) -> Iterator[Advice]:
    if facts.uncounted or facts.loose:
        reasons = []
        if facts.uncounted:
            reasons.append(f"{number(facts.uncounted)} files have no statistics")
        if facts.loose:
            reasons.append(f"{number(facts.loose)} files have loose statistics since rows were deleted")
        yield Advice(
            "Compute statistics",
            f"{' and '.join(reasons)}. Queries cannot skip these files as well as they could.",
            "table.analyze()",
        )


def _on_layout(facts: TableFacts) -> Iterator[Advice]:
    columns = [each for each in facts.skipping if not each.is_partition and each.bounded > 0]
    if facts.num_files < _FEW_FILES or not columns:
        return
    best = min(columns, key=lambda each: each.opened)
    if best.opened > _POOR_SKIPPING:
        how = "table.optimize()" if facts.clustering_columns else 'table.alter.cluster_by(["..."])'
        yield Advice(
            "Cluster by the columns that queries filter on",
            f"A query for one value opens {best.opened:.0%} of the files even with the best column,"
            f" {best.name}.",
            how,
        )


def _on_log(facts: TableFacts) -> Iterator[Advice]:
    if facts.vacuum.num_files:
        yield Advice(
            "Vacuum",
            f"{number(facts.vacuum.num_files)} files"
            f" ({byte_size(facts.vacuum.num_bytes)} as far as the log tells) were removed before the"
            " retention, and no version within it needs them.",
            "table.vacuum(dry_run=False)",
        )
    if facts.commits_since_checkpoint > 2 * facts.checkpoint_interval:
        yield Advice(
            "Write a checkpoint",
            f"Every reader reads {number(facts.commits_since_checkpoint)} commits after the last checkpoint;"
            f" the table asks for one after {number(facts.checkpoint_interval)}.",
            "table.create_checkpoint()",
        )
