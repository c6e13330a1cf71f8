"""VACUUM: finding the files that no version within the retention needs, and deleting them.

A plan comes first. `by_log` takes candidates from what commits say, `listing` from storage, `inventory` from
a table of paths; `listing_tasks` lets an executor list a large table. `needed` says which of them the newest
version, tombstones within the retention and versions that are to be kept still need. `vacuum` drives it: the
plan, a look at what was committed meanwhile, the deletions, and the commits that tell history of it.
Newcomers begin there.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.operations.vacuum.options import VacuumOptions as VacuumOptions
    from deltaarrow.operations.vacuum.vacuum import vacuum_files as vacuum_files

__getattr__ = lazy_package(__name__)
