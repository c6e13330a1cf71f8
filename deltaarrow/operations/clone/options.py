"""`CloneOptions` and `ClonePlan`: the request for a CLONE, and the plan made from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deltaarrow.actions import DomainMetadata, Metadata, Protocol
from deltaarrow.snapshot import Snapshot

__all__ = ["CloneOptions", "ClonePlan", "Progress"]

Progress = Callable[[int, int], None]
"""Called with the number of bytes copied so far and the total."""


@dataclass(frozen=True, kw_only=True)
class CloneOptions:
    """How a table is cloned.

    Args:
        shallow: whether the clone refers to the files of the source; otherwise it has copies of its own.
        replace: whether an existing table without rows, or an earlier deep clone of the same source, becomes
            the clone.
        properties: table properties of the clone, in addition to the source's properties.
        parallelism: the number of threads that copy files.
    """

    shallow: bool = True
    replace: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = 8

    def __post_init__(self) -> None:
        """Raise for a number out of its range."""
        if type(self.parallelism) is not int or self.parallelism < 1:
            raise ValueError(f"parallelism must be a whole number of at least 1, not {self.parallelism!r}")


@dataclass(frozen=True)
class ClonePlan:
    """What a CLONE commits.

    Attributes:
        source: the version that is cloned.
        target: the table that becomes the clone; None if it is new.
        metadata: the metadata of the commit.
        protocol: its protocol.
        domains: the domains that it sets.
        num_files: the number of files of the source.
        num_bytes: their size.
    """

    source: Snapshot
    target: Snapshot | None
    metadata: Metadata
    protocol: Protocol
    domains: tuple[DomainMetadata, ...]
    num_files: int
    num_bytes: int

    def __repr__(self) -> str:
        return f"ClonePlan(version={self.source.version}, files={self.num_files}, bytes={self.num_bytes})"
