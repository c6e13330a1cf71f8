"""Post-commit hook that keeps Iceberg metadata of a table up to date: Delta's UniForm.

Chapter *Iceberg Compatibility V2* of the protocol; `deltaarrow.iceberg` writes the metadata. If it fails, the
commit stays and a warning is logged. The hook of the next commit takes up what is missing.
"""

import deltaarrow.iceberg as iceberg
from deltaarrow.features import keeps_iceberg_metadata
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommittedTransaction

__all__ = ["write_universal_format"]


def write_universal_format(done: CommittedTransaction) -> None:
    """Write the Iceberg metadata of the committed version, if the table's properties ask for it."""
    if keeps_iceberg_metadata(done.configuration):
        iceberg.write_iceberg_metadata(Snapshot.load(done.store, done.version, known=done.previous))
