"""Auto compaction: after a commit, the partitions that it wrote to are compacted if they need it.

Whether they do is decided from the log, so writers of any process, and of any engine, count together. Spark
counts in each process the files that this process has written.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

import deltaarrow.operations.optimize as optimize
import deltaarrow.scan as scan
from deltaarrow.actions import AddFile
from deltaarrow.columnar.kernels import pc
from deltaarrow.features import properties
from deltaarrow.operations.commit.catalog_policy import is_maintenance_allowed
from deltaarrow.operations.commit.partition_predicate import partitions_predicate
from deltaarrow.operations.define.clustering_domain import clustering_columns
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import physical_name, render_path
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import (
    AutoCompaction,
    CommittedTransaction,
    PostCommitHook,
    PostCommitHookProperties,
)

__all__ = ["auto_compaction_hook"]

_MAX_FILE_SIZE = 128 << 20
_MAX_PARTITIONS = 128

_Partition = frozenset[tuple[str, str | None]]


def auto_compaction_hook(
    wanted: PostCommitHookProperties | None = None, *, clock: Clock = system_clock
) -> PostCommitHook:
    """Return the post-commit hook that compacts the partitions that a commit wrote to.

    It does nothing unless `wanted` or the properties of the table turn it on. The compaction is a commit of
    its own, as Spark makes it. If it fails, the commit before it stays and a warning is logged.
    """
    hooks = wanted or PostCommitHookProperties()

    def auto_compaction(done: CommittedTransaction) -> None:
        rules = _rules(hooks.auto_compact, done)
        added = [each for each in done.actions if isinstance(each, AddFile) and each.data_change]
        if rules is None or not added or not is_maintenance_allowed(done.store):
            return
        due = _Due(Snapshot.load(done.store, known=done.previous), rules, added)
        if (rewriting := due.rewriting(hooks, clock)) is not None:
            rewriting.run()

    return auto_compaction


def _rules(wanted: bool | AutoCompaction | None, done: CommittedTransaction) -> AutoCompaction | None:
    """Return when to compact; None for never."""
    rules = wanted if isinstance(wanted, AutoCompaction) else AutoCompaction(enabled=wanted)
    enabled = rules.enabled
    if enabled is None:
        configuration = done.configuration
        enabled = properties.AUTO_OPTIMIZE.parse(
            configuration
        ) or properties.AUTO_OPTIMIZE_AUTO_COMPACT.parse(configuration)
    return rules if enabled else None


@dataclass(frozen=True)
class _Due:
    """What is to be compacted in a version, after a commit that added files."""

    snapshot: Snapshot
    rules: AutoCompaction
    added: Sequence[AddFile]

    @property
    def max_file_size(self) -> int:
        """What the files of a bin come to at most, in bytes."""
        configured = properties.TARGET_FILE_SIZE.parse(self.snapshot.configuration)
        return self.rules.max_file_size or configured or _MAX_FILE_SIZE

    @property
    def min_file_size(self) -> int:
        """Files of fewer bytes are small."""
        return self.rules.min_file_size or max(1, self.max_file_size // 2)

    def rewriting(self, hooks: PostCommitHookProperties, clock: Clock) -> "optimize.Rewriting | None":
        """Return what is to be done; None for nothing."""
        options = optimize.RewritingOptions(hook_properties=hooks)
        if clustering_columns(self.snapshot):
            return self._clustering(options, clock)
        return self._compaction(options, clock)

    def _clustering(self, options: "optimize.RewritingOptions", clock: Clock) -> "optimize.Rewriting | None":
        providers = self.snapshot.files(columns=["clustering_provider"]).column("clustering_provider")
        if providers.null_count < self.rules.min_num_files:
            return None
        clustering = optimize.Clustering.of(self.snapshot, target_size=self.max_file_size)
        parameters = {**optimize.clustering_parameters(clustering), "auto": True}
        plan, sorting = clustering.plan(), clustering.sorting(optimize.SortLimits())
        return optimize.Rewriting(self.snapshot, plan, "OPTIMIZE", parameters, options, clock, sorting)

    def _compaction(self, options: "optimize.RewritingOptions", clock: Clock) -> "optimize.Rewriting | None":
        due = self._partitions()
        if not due:
            return None
        selection = self._selection(due)
        rules = optimize.CompactionRules(
            target_size=self.max_file_size,
            min_file_size=self.min_file_size,
            max_deleted_rows_ratio=self.rules.max_deleted_rows_ratio,
        )
        plan = optimize.plan_compaction(self.snapshot, selection, rules)
        parameters = {**optimize.compaction_parameters(selection), "auto": True}
        return optimize.Rewriting(self.snapshot, plan, "OPTIMIZE", parameters, options, clock)

    def _partitions(self) -> set[_Partition]:
        """Return the partitions of the commit that need to be compacted, at most as many as in Spark."""
        small = self._small_files()
        sparse = {_partition(each) for each in self.added if self._is_sparse(each)}
        due = sparse | {each for each, count in small.items() if count >= self.rules.min_num_files}
        return set(sorted(due, key=lambda each: -small[each])[:_MAX_PARTITIONS])

    def _small_files(self) -> Counter[_Partition]:
        """Return the number of small files in each partition that the commit wrote to."""
        predicate = None
        if self.snapshot.partition_columns:
            predicate = partitions_predicate(self.snapshot, [each.partition_values for each in self.added])
        files = self.snapshot.files(predicate, columns=["size", "partition_values"])
        files = files.filter(pc.less(files.column("size"), self.min_file_size))
        values = files.column("partition_values").to_pylist(maps_as_pydicts="strict")
        written = {_partition(each) for each in self.added}
        return Counter(each for each in (frozenset(row.items()) for row in values) if each in written)

    def _is_sparse(self, file: AddFile) -> bool:
        """Whether many rows of a file are deleted."""
        if file.deletion_vector is None:
            return False
        total = orjson.loads(file.stats or b"{}").get("numRecords")
        return not total or file.deletion_vector.cardinality / total > self.rules.max_deleted_rows_ratio

    def _selection(self, partitions: Iterable[_Partition]) -> "optimize.Selection":
        """Return the selection of exactly these partitions."""
        if not self.snapshot.partition_columns:
            return optimize.Selection()
        wanted = set(partitions)
        values = [each.partition_values for each in self.added if _partition(each) in wanted]
        predicate = partitions_predicate(self.snapshot, values)
        return optimize.Selection((scan.TreeCondition(predicate),), self._text(wanted))

    def _text(self, partitions: Iterable[_Partition]) -> str:
        """Return the condition on partitions as history shows it."""
        fields = [self.snapshot.schema.field(name) for name in self.snapshot.partition_columns]
        names = {
            physical_name(field, self.snapshot.mapping_mode): render_path((field.name,)) for field in fields
        }
        conditions = (
            " AND ".join(f"({names[key]} <=> {_literal(text)})" for key, text in sorted(each))
            for each in partitions
        )
        return " OR ".join(sorted(conditions))


def _literal(text: str | None) -> str:
    if text is None:
        return "NULL"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _partition(file: AddFile) -> _Partition:
    return frozenset(file.partition_values.items())
