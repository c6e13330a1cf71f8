"""Names of metadata domains and commit tags defined by the protocol or delta-spark."""

__all__ = ["CLUSTERING_DOMAIN", "IDENTITY_TAG", "ROW_TRACKING_DOMAIN", "ROW_TRACKING_PRESERVED_TAG"]

CLUSTERING_DOMAIN = "delta.clustering"
ROW_TRACKING_DOMAIN = "delta.rowTracking"

ROW_TRACKING_PRESERVED_TAG = "delta.rowTracking.preserved"
"""Tag of commits in which rows keep their ids when they move from removed to added files."""

IDENTITY_TAG = "delta.identity.schemaUpdate"
"""Tag of commits that change the schema only by the high water marks of identity columns."""
