"""``_delta_log/_last_vacuum_info``: the last version that a VACUUM by the log has processed.

delta-spark keeps in it the newest commit whose removed files have been deleted; a VACUUM LITE goes on after
it. A full VACUUM leaves ``{}``. It is not in the protocol, and a file that cannot be read says nothing.
"""

import orjson

from deltaarrow.log.file_names import LAST_VACUUM_INFO
from deltaarrow.storage import Store

__all__ = ["read_last_vacuum", "write_last_vacuum"]

_VERSION = "latestCommitVersionOutsideOfRetentionWindow"


def read_last_vacuum(store: Store) -> int | None:
    """Return the newest version whose removed files are deleted; None where that is not known."""
    try:
        said = orjson.loads(store.read(LAST_VACUUM_INFO))
    except (FileNotFoundError, ValueError):
        return None
    version = said.get(_VERSION) if isinstance(said, dict) else None
    return version if type(version) is int and version >= 0 else None


def write_last_vacuum(store: Store, version: int | None) -> None:
    """Note that the files removed up to a version are deleted; None after a VACUUM that went by storage."""
    said = {} if version is None else {_VERSION: version}
    store.write(LAST_VACUUM_INFO, orjson.dumps(said) + b"\n")
