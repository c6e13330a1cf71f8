"""The location of a new table, and its registration in a catalog."""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.catalogs import FolderNamespace, Namespace, NewFolder, TableLocation
from deltaarrow.errors import CommitFailedError, StorageError, TableNotFoundError, VersionExistsError
from deltaarrow.log import has_versions, list_log
from deltaarrow.operations.define.drop_table import (
    delete_abandoned,
    delete_link,
    delete_log,
    drop_table,
    finish_drop,
    is_link,
    plan_drop,
)
from deltaarrow.operations.write.planned_write import WriteResult
from deltaarrow.operations.write.write import find_table
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
            raise self.taken()

    def taken(self) -> VersionExistsError:
        """Return the error for a table or view of this name that is there."""
        return VersionExistsError(
            f"[TABLE_OR_VIEW_ALREADY_EXISTS] there is a table or view {self.shown}; choose another name, or"
            " use IF NOT EXISTS or CREATE OR REPLACE"
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

        Of two that make one table at the same time, one fails, and nothing is left of it but at a location
        that the statement names. What a process has left that was killed goes when the next one makes a table
        of this name, but for a folder whose name is that of the table: others may have written there.

        Args:
            build: makes the table.
            may_create: whether there may be no such table yet.
            may_replace: whether there may be one.
            if_not_exists: whether one that is there is left as it is.

        Raises `VersionExistsError` and `TableNotFoundError` for a table that may not be there or not be
        missing. If a catalog allocates the place of the table, files of one that fails may stay there.
        """
        there = self.find()
        if there is not None and isinstance(self.namespace, FolderNamespace) and not _is_table(there.open()):
            there = None  # a writer has left a checksum there, after the table was dropped
        if there is not None and if_not_exists:
            return None
        self.ensure_makeable(there, may_create=may_create, may_replace=may_replace)
        claim = None if there is not None or self.namespace is None else self._claim()
        if claim is not None:
            return self._make_in(claim, build, if_not_exists=if_not_exists)
        location = there or self.new
        store = location.open()
        # The place that a statement names belongs to its author, and an allocated one to its catalog.
        is_own = there is None and location.is_managed and location.opener is None
        is_own = is_own and self.namespace is not None and not any(store.list_recursive())
        result = build(store, location)
        if there is None:
            self._register(store, location, is_own=is_own and result.version == 0)
        return result

    def drop(self, there: TableLocation) -> None:
        """Forget the table of this name at a location, and delete its files if the catalog owns them.

        If this is killed, the next drop goes on. Raises `KeyError` if another process has dropped the table,
        and the errors of `drop_table`.
        """
        assert self.namespace is not None
        if not there.is_managed:
            return self.namespace.remove(self.name, there)
        store = there.open()
        has_table = not is_link(store) and _is_table(store)
        if hasattr(self.namespace, "dropped"):
            # Raises what the drop would, before the name goes.
            planned = plan_drop(store) if has_table else None
            self.namespace.remove(self.name, there)
            if planned is not None and planned.table_id is not None:
                drop_table(store, planned=planned)
            elif not delete_link(store):
                finish_drop(store)
            return None
        if not delete_link(store):
            if has_table:
                drop_table(store)
            elif isinstance(self.namespace, FolderNamespace):
                delete_log(store)
        return self.namespace.remove(self.name, there)

    def finish_drop(self) -> bool:
        """Go on with a drop of the last table of this name that was killed; return whether one was."""
        left: TableLocation | None = getattr(self.namespace, "dropped", _nothing)(self.name)
        return left is not None and finish_drop(left.open())

    def _claim(self) -> NewFolder | None:
        """A folder that no other table has; None if the catalog gives none, or the statement names one."""
        claim: Callable[[str], NewFolder] | None = getattr(self.namespace, "claim", None)
        if not self.new.is_managed or claim is None:
            return None
        self.finish_drop()
        try:
            return claim(self.name)
        except FileExistsError as error:
            raise self._was_second() from error

    def _make_in(
        self,
        claim: NewFolder,
        build: Callable[[Store, TableLocation], WriteResult],
        *,
        if_not_exists: bool,
    ) -> WriteResult | None:
        """Make a table in a folder of its own, and give it the name."""
        store, result = claim.location.open(), None
        try:
            result = build(store, claim.location)
            claim.add()
        except BaseException as error:
            if self.find() != claim.location:  # else the name was put, and only the answer was lost
                # A build that fails deletes its files. What is there may be somebody else's.
                if claim.is_unique or (result is not None and result.version == 0):
                    delete_abandoned(store)
                claim.release()
            # Whoever has given the name to another table meanwhile also deletes the folder of this one.
            was_second = isinstance(error, (StorageError, CommitFailedError)) and claim.is_void()
            if not (was_second or isinstance(error, FileExistsError)):
                raise
            if if_not_exists:
                return None
            raise self._was_second() from error
        for left in claim.void():
            delete_abandoned(left.location.open())
            left.release()
        claim.release()
        return result

    def _ensure_no_view(self) -> None:
        if self.namespace is not None and self.namespace.view(self.name) is not None:
            raise VersionExistsError(
                f"[TABLE_OR_VIEW_ALREADY_EXISTS] {self.shown} is a view: drop it first, with DROP VIEW"
            )

    def _register(self, store: Store, location: TableLocation, *, is_own: bool) -> None:
        if self.namespace is None:
            return
        try:
            self.namespace.add(self.name, location)
        except BaseException as error:
            # If the name was put, only the answer was lost.
            if is_own and self.namespace.find(self.name) != location:
                drop_table(store)
            if not isinstance(error, FileExistsError):
                raise
            raise self._was_second() from error

    def _was_second(self) -> VersionExistsError:
        return VersionExistsError(
            f"[TABLE_OR_VIEW_ALREADY_EXISTS] another process has just created {self.shown}"
        )


def _is_table(store: Store) -> bool:
    """Whether there is a table, which may be half dropped."""
    return has_versions(list_log(store))


def _nothing(_: str) -> None:
    return None
