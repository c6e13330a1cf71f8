"""A catalog-managed table by hand, which is its own catalog: published, staged and inline commits."""

import uuid

import pyarrow as pa

from deltaarrow import DeltaTable, RatifiedCommit, RatifiedCommits
from tests.support.tables import EPOCH_MS, TableBuilder

__all__ = ["SCHEMA", "ManagedTable"]

SCHEMA = pa.schema([("id", pa.int64())])
CONFIGURATION = {"delta.enableInCommitTimestamps": "true", "delta.enableChangeDataFeed": "true"}


class ManagedTable(TableBuilder):
    """A table of one row a version, and the catalog that manages it."""

    def __init__(self, path, name="catalogManaged"):
        super().__init__(path)
        self.ratified: dict[int, RatifiedCommit] = {}
        self.asked: list[int] = []
        features = [name, "vacuumProtocolCheck"]
        self.features(*features, writer_only=["inCommitTimestamp", "changeDataFeed"])
        self.metadata(SCHEMA, configuration=CONFIGURATION).published()

    def published(self):
        """Commit a version as a file of the log, as any table does."""
        return self._next()

    def staged(self, *, is_ratified=True):
        """Commit a version as a staged file; as one that lost if it is not ratified."""
        version = self.version + 1
        text = self._next(is_kept=is_ratified)
        name = f"{version:020d}.{uuid.uuid4()}.json"
        (self.log / "_staged_commits").mkdir(exist_ok=True)
        (self.log / "_staged_commits" / name).write_bytes(text)
        if is_ratified:
            self.ratified[version] = RatifiedCommit(version, staged_file=name)
        return name

    def inline(self):
        """Commit a version whose text the catalog holds."""
        text = self._next()
        (self.log / f"{self.version:020d}.json").unlink()
        self.ratified[self.version] = RatifiedCommit(self.version, content=text)

    def _next(self, *, is_kept=True):
        version = self.version + 1
        # Times of files are arbitrary; those inside of the commits count.
        timestamp = {"inCommitTimestamp": EPOCH_MS + 60_000 * version}
        self.commit([self.add_file(pa.table({"id": [version]}))], timestamp=1000, info=timestamp)
        file = self.log / f"{version:020d}.json"
        text = file.read_bytes()
        if not is_kept:
            file.unlink()
            del self.commits[version]
        return text

    def unpublish(self, *versions):
        for version in versions:
            (self.log / f"{version:020d}.json").unlink()

    # --- the catalog ---

    def ratified_commits(self, start_version=0):
        self.asked.append(start_version)
        commits = [commit for version, commit in self.ratified.items() if version >= start_version]
        return RatifiedCommits(commits, latest_version=self.version)

    def open(self, version=None):
        return DeltaTable(self.path, version=version, catalog=self)
