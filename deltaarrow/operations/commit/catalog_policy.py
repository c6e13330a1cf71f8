"""Maintenance of catalog-managed tables: which operations the catalog allows its clients.

A client may write checkpoints, log compactions and version checksums, the first two for published versions
only. All other maintenance is the catalog's, unless it says that clients may do it.
"""

from deltaarrow.display.redaction import redacted
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.log import is_catalog_store
from deltaarrow.storage import Store

__all__ = ["ensure_maintenance_allowed", "is_maintenance_allowed"]


def is_maintenance_allowed(store: Store) -> bool:
    """Whether clients may compact, vacuum and clean up the table in a store."""
    return not is_catalog_store(store) or store.allows_maintenance


def ensure_maintenance_allowed(store: Store, doing: str) -> None:
    """Raise `UnsupportedFeatureError` where the catalog of a table does not leave `doing` to its clients."""
    if not is_maintenance_allowed(store):
        raise UnsupportedFeatureError(
            f"cannot {doing} {redacted(store.uri)}: a catalog manages the table, and clients may not do that;"
            " let the catalog do it, or open the table with UnityCatalog(..., allows_maintenance=True) if its"
            " operators let you (Spark: DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION)",
            feature="catalogManaged",
        )
