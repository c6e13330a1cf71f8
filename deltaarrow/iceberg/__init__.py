"""Iceberg metadata for a table whose data files both formats can read (UniForm).

Iceberg's specification, format version 2. The modules that need ``pyiceberg`` are imported on first use.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.iceberg.manifests import MetadataLimits as MetadataLimits
    from deltaarrow.iceberg.metadata_conversion import write_iceberg_metadata as write_iceberg_metadata

__getattr__ = lazy_package(__name__)
