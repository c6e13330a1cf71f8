"""`Step`: one commit on the way to a dropped feature, and the condition under which it is needed.

Steps look at the table, never at what a call has done before. A call that was killed is therefore repeated
from the first step, and the steps that are done are not needed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from deltaarrow.operations.alter.metadata_changes import Alteration, commit_alteration
from deltaarrow.operations.commit.transaction_start import begin_transaction
from deltaarrow.operations.optimize import OptimizePlan, Progress, RewritingOptions
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import OptimisticTransaction

__all__ = ["Step", "Work"]


@dataclass(frozen=True)
class Work:
    """How the commits of a call are made.

    Args:
        options: how files are rewritten; what else goes into commits, and what happens after them.
        clock: the time of the commits.
        progress: is told of rewritten bytes.
    """

    options: RewritingOptions
    clock: Clock = system_clock
    progress: Progress = lambda done, total: None

    def without_applications(self) -> "Work":
        """Return the work of the commits before the last: that one records the progress of applications."""
        return replace(self, options=self.options.after_a_commit())

    def begin(self, snapshot: Snapshot, operation: str) -> OptimisticTransaction:
        """Open a transaction on a version."""
        options = self.options
        return begin_transaction(
            snapshot, operation, options.commit_properties, options.hook_properties, clock=self.clock
        )

    def alter(self, snapshot: Snapshot, alteration: Alteration) -> None:
        """Commit a change of the metadata."""
        commit_alteration(
            snapshot,
            alteration,
            commit_properties=self.options.commit_properties,
            hook_properties=self.options.hook_properties,
            clock=self.clock,
        )


@dataclass(frozen=True)
class Step:
    """One commit.

    Args:
        operation: what history shows.
        is_needed: whether the version has what the step removes.
        commit: makes the commit on a version.
        plan: plans to rewrite files, if the step does.
        is_trace: whether what the step removes keeps the feature from being dropped.
        in_history: whether readers of older versions need the feature for it.
    """

    operation: str
    is_needed: Callable[[Snapshot], bool]
    commit: Callable[[Snapshot, Work], None]
    plan: Callable[[Snapshot], OptimizePlan] | None = None
    is_trace: bool = True
    in_history: bool = True
