"""The location of a new table, and its registration in a catalog."""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.catalogs import Namespace, TableLocation
from deltaarrow.errors import TableNotFoundError, VersionExistsError
from deltaarrow.operations.drop import drop_table
from deltaarrow.operations.planned_write import WriteResult
from deltaarrow.operations.write import find_table
from deltaarrow.storage import Store

__all__ = ["Place"]


@dataclass(frozen=True)
class Place:
    """The name of a table, and the folder that a new one of this name gets.

    Args:
        name: the name, without that of its namespace.
        shown: the name as messages show it.
        namespace: keeps the name; None for a table that is named by its path.
        new: where a new table goes.
    """

    name: str
    shown: str
    namespace: Namespace | None
    new: TableLocation

    def find(self) -> TableLocation | None:
        """Return where the table of this name is; None if there is none."""
        if self.namespace is not None:
            return self.namespace.find(self.name)
        return self.new if find_table(self.new.open()) is not None else None

    def ensure_free(self) -> None:
        """Raise `VersionExistsError` if there is a table of this name."""
        if self.find() is not None:
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] there is a table {self.shown}; choose another name, or use"
                " IF NOT EXISTS or CREATE OR REPLACE"
            )

    def ensure_makeable(self, there: TableLocation | None, *, may_create: bool, may_replace: bool) -> None:
        """Raise as `make` does, given where the table is now."""
        if there is not None and not may_replace:
            self.ensure_free()
        if there is None and not may_create:
            raise TableNotFoundError(
                f"[TABLE_OR_VIEW_NOT_FOUND] {self.shown} is not the name of a table, so it cannot be replaced"
            )
        if there is None:
            self._ensure_no_view()

    def make(
        self,
        build: Callable[[Store, TableLocation], WriteResult],
        *,
        may_create: bool = True,
        may_replace: bool = False,
        if_not_exists: bool = False,
    ) -> WriteResult | None:
        """Make a table and then give it the name; return None for one that is there and stays.

        Of two that make one table at the same time, one fails. Nothing is left of one that fails.

        Args:
            build: makes the table.
            may_create: whether there may be no such table yet.
            may_replace: whether there may be one.
            if_not_exists: whether one that is there is left as it is.

        Raises `VersionExistsError` and `TableNotFoundError` for a table that may not be there or not be
        missing. If a catalog allocates the place of the table, files of one that fails may stay there.
        """
        there = self.find()
        if there is not None and if_not_exists:
            return None
        self.ensure_makeable(there, may_create=may_create, may_replace=may_replace)
        location = there or self.new
        store = location.open()
        result = build(store, location)
        if there is None:
            self._register(store, location, is_new=result.version == 0)
        return result

    def _ensure_no_view(self) -> None:
        if self.namespace is not None and self.namespace.view(self.name) is not None:
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] {self.shown} is a view: drop it first, with DROP VIEW"
            )

    def _register(self, store: Store, location: TableLocation, *, is_new: bool) -> None:
        if self.namespace is None:
            return
        try:
            self.namespace.add(self.name, location)
        except BaseException as error:
            if is_new and location.opener is None:  # an allocated place is its catalog's
                drop_table(store)
            if not isinstance(error, FileExistsError):
                raise
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] another process has just created {self.shown}"
            ) from error
