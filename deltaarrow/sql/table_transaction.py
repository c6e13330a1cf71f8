"""`TableTransaction`: the changes between BEGIN and COMMIT, one version of one Delta table.

The changes are staged, and seen by nobody before COMMIT. So one DELETE, UPDATE or MERGE may come first, and
INSERTs after it; whatever would have to see the staged rows is refused. DuckDB's own tables are changed by
its own transaction, which is committed after the Delta table.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.transaction import OptimisticTransaction

if TYPE_CHECKING:
    from deltaarrow.engines import Catalog
    from deltaarrow.table import DeltaTable

__all__ = ["TableTransaction"]


class TableTransaction:
    """A transaction of a session, from BEGIN to its one `commit` or `rollback`.

    Args:
        catalog: is told which table cannot be read.

    Attributes:
        staged: what is staged for a table; None before the first change.
    """

    def __init__(self, catalog: "Catalog") -> None:
        self._catalog = catalog
        self.staged: OptimisticTransaction | None = None
        self._statements: list[str] = []
        self._has_failed = False

    @contextmanager
    def changing(self, table: "DeltaTable", statement: str) -> Iterator[None]:
        """Stage the changes of a statement; an error ends the transaction.

        Raises `UnsupportedFeatureError`, before anything is written, for another table than that of the
        changes so far, and for a change that would have to see these.
        """
        self._ensure_usable()
        if self.staged is not None:
            if self.staged.store.uri != table.table_uri:
                raise _refused(
                    f"the transaction changes {self.staged.store.uri}, and a version has the changes of one"
                    " table: COMMIT before another is changed"
                )
            if statement != "INSERT":
                raise _refused(
                    f"{statement} would have to see the rows that the transaction has changed before: COMMIT"
                    f" first, or let {statement} be its first change"
                )
        try:
            yield
        except BaseException:
            self._fail()
            raise
        self._statements.append(statement)
        self._catalog.changed = None if self.staged is None else self.staged.store.uri

    def commit(self) -> None:
        """Commit what is staged."""
        self._ensure_usable()
        staged = self.staged
        self._end()
        if staged is None:
            return
        if len(self._statements) > 1:
            staged.operation, staged.metrics, staged.metrics_of = "TRANSACTION", {}, None
            staged.parameters = {"statements": orjson.dumps(self._statements).decode()}
        with staged:
            pass

    def rollback(self) -> None:
        """Give up what is staged, and delete the files written for it."""
        staged = self.staged
        self._end()
        if staged is not None:
            staged.abort()

    def refuse(self, statement: str) -> None:
        """Raise `UnsupportedFeatureError` for a statement that cannot be part of a transaction."""
        raise _refused(f"{statement} cannot be part of a transaction: COMMIT first")

    def _fail(self) -> None:
        self._has_failed = True
        if self.staged is not None:
            self.staged.abort()
        self._catalog.changed = None

    def _end(self) -> None:
        self.staged = None
        self._catalog.changed = None

    def _ensure_usable(self) -> None:
        if self._has_failed:
            raise _refused("a statement of the transaction has failed, so none of it is kept: ROLLBACK")


def _refused(why: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(why, feature="transaction")
