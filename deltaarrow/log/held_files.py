"""What is held in memory of the Parquet files of a large checkpoint, for as long as they are the same files.

What is held of a file is known by the numbers of its rows. A checkpoint without a UUID in its name may be
written again, by another writer and with its rows in another order: it says the same, and other rows say it.
So whoever has read rows by what is held asks afterwards whether the files were the same all the time.
"""

from collections.abc import Hashable, Sequence

import pyarrow as pa

from deltaarrow.log.names import has_unique_name
from deltaarrow.log.partition_texts import PartitionTexts
from deltaarrow.log.struct_statistics import StructStatistics
from deltaarrow.statistics.held import HeldStatistics
from deltaarrow.storage.store import Store

__all__ = ["HeldFiles"]


class HeldFiles:
    """The partition texts and the statistics of a list of Parquet files; safe to share among threads.

    Args:
        store: where the files are.
        names: the files.
        parsed_type: the type of their column ``add.stats_parsed``; None where there is none.
        has_json: whether they have statistics as JSON texts.
    """

    def __init__(
        self, store: Store, names: Sequence[str], parsed_type: pa.DataType | None, *, has_json: bool
    ) -> None:
        self._store = store
        self._replaceable = [name for name in names if not has_unique_name(name)]
        self._identities = self._found_identities()
        self.texts = PartitionTexts(store, names)
        self.statistics = HeldStatistics(parsed_type, has_json=has_json)
        self.structs = (
            None if parsed_type is None else StructStatistics(store, names, parsed_type, has_json=has_json)
        )

    @property
    def are_known(self) -> bool:
        """Whether the store tells a file from another one under its name."""
        return None not in self._identities

    def are_current(self) -> bool:
        """Whether the files are still those of which something is held."""
        return self._found_identities() == self._identities

    def _found_identities(self) -> list[Hashable | None]:
        try:
            return [self._store.identity(name) for name in self._replaceable]
        except FileNotFoundError:
            return [None]
