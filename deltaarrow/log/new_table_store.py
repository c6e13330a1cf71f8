"""The store of a new table in a catalog, and the catalog's requirements for version 0."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltaarrow.log.catalog_managed import is_catalog_store
from deltaarrow.storage import Store, StoreView

__all__ = ["Demands", "NewTableStore", "is_managed_by_catalog"]


@dataclass(frozen=True, slots=True)
class Demands:
    """What the first commit of a table must have, and should have.

    Attributes:
        required: properties, and table features as ``delta.feature.<name>``, that the table must have.
        suggested: likewise what it gets unless the user says otherwise.
    """

    required: Mapping[str, str] = field(default_factory=dict)
    suggested: Mapping[str, str] = field(default_factory=dict)


class NewTableStore(StoreView):
    """An empty place for version 0 of a table, which its catalog registers afterwards."""

    def __init__(self, store: Store, demands: Demands) -> None:
        super().__init__(store)
        self.demands = demands

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the store and the demands."""
        return NewTableStore, (self._store, self.demands)


def is_managed_by_catalog(store: Store) -> bool:
    """Whether a catalog manages the table in a store, or will once it is created."""
    return is_catalog_store(store) or isinstance(store, NewTableStore)
