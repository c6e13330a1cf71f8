"""What a transaction has read: that which others may not change under it."""

from dataclasses import dataclass, field

from deltaarrow.expressions import Predicate

__all__ = ["ReadSet"]


@dataclass
class ReadSet:
    """The reads of one transaction.

    `predicates` are those by which files were looked for: a file that another adds and that may hold
    a matching row should have been read. `files` are the canonical paths of the files that were
    found; `applications` the ids whose `txn` was asked for; `whole_table` stands for every file there
    is and may be.
    """

    predicates: list[Predicate] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    applications: set[str] = field(default_factory=set)
    whole_table: bool = False

    @property
    def has_files(self) -> bool:
        """Whether any file was looked for, be it found or not."""
        return self.whole_table or bool(self.predicates) or bool(self.files)
