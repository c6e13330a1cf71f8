"""CLONE: a new table of the files of another, which it refers to (shallow) or copies (deep).

A plan comes first: `table` makes the metadata of the clone, `references` the paths of a shallow one and
`copying` the files of a deep one. `clone` drives it, and newcomers begin there.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.clone.clone import clone_table as clone_table, plan_clone as plan_clone
    from deltaarrow.operations.clone.options import CloneOptions as CloneOptions, ClonePlan as ClonePlan

__getattr__ = lazy_package(__name__)
