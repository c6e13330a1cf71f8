"""The names of metadata domains and of tags of commits that the protocol or delta-spark gives."""

__all__ = ["CLUSTERING_DOMAIN", "IDENTITY_TAG", "ROW_TRACKING_DOMAIN", "ROW_TRACKING_PRESERVED_TAG"]

CLUSTERING_DOMAIN = "delta.clustering"
ROW_TRACKING_DOMAIN = "delta.rowTracking"

ROW_TRACKING_PRESERVED_TAG = "delta.rowTracking.preserved"
"""Says of a commit that the rows of the files that it removes and adds keep their ids."""

IDENTITY_TAG = "delta.identity.schemaUpdate"
"""Says of a commit that all it changes of the schema is how far identity columns have counted."""
