"""`Following`: the changes of a table since the last MERGE of an application, for its next MERGE.

==================================  ==================================================================
in the query of a MERGE             what it is
==================================  ==================================================================
``table_changes_by_path('/t')``     the feed of changes since the last MERGE of this application into the
                                    target; at the first one, all rows, as inserts
``is_incremental()``                FALSE where that is the first MERGE, else TRUE
==================================  ==================================================================

The application is named as for delta-spark, by ``SET spark.databricks.delta.write.txnAppId = name``. The
version up to which a MERGE took in changes is part of its commit: the version of the application in the log
of the target. So each change is taken in once, whatever stops when. A MERGE that was stopped goes on after
it. Of two at once, one is refused, and finds nothing new when it runs again.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.engines import Catalog
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.operations import CommitProperties, Transaction
from deltaarrow.schema import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeType
from deltaarrow.snapshot import Snapshot
from deltaarrow.spark_sql import function_calls
from deltaarrow.sql.session_settings import APPLICATION

if TYPE_CHECKING:
    from deltaarrow.table import DeltaTable

__all__ = ["FOLLOWED", "Following", "followed"]

FOLLOWED = "table_changes_by_path"
"""The function whose call with a path alone goes on where the application stopped."""

_IS_INCREMENTAL = "is_incremental"


class Following:
    """The changes that one MERGE takes in.

    Args:
        application: the name of the application that merges; None if it has none.
        target: what is merged into.
        catalog: opens tables, and holds them at one version for as long as `held` is open.
        held: closes with the statement.
    """

    def __init__(
        self, application: str | None, target: "DeltaTable", catalog: Catalog, held: ExitStack
    ) -> None:
        self._application = application
        self._seen = None if application is None else target.transaction_version(application)
        self._catalog, self._held = catalog, held
        self._source: Snapshot | None = None
        self._path = ""
        self._asks = False

    def query(self, text: str) -> str:
        """Return a query with the value of ``is_incremental()`` in its place."""
        if _IS_INCREMENTAL not in text.lower():
            return text
        for call in reversed(function_calls(text, _IS_INCREMENTAL)):
            if call.arguments:
                continue
            self._asks = True
            value = "FALSE" if self._seen is None else "TRUE"
            # Errors point at places of the text, so its length stays.
            text = text[: call.start] + value.ljust(call.end - call.start) + text[call.end :]
        return text

    def changes(self, path: str) -> str:
        """Return the new changes of a table, as DuckDB's dialect names them.

        Raises `UnsupportedFeatureError` if no application is named, and for the changes of a second table.
        """
        if self._application is None:
            raise UnsupportedFeatureError(
                f"{FOLLOWED}('{path}') goes on where an application stopped, and none is named: put"
                f" SET {APPLICATION.name} = name before the MERGE, or give the versions that are wanted",
                feature=FOLLOWED,
            )
        if self._source is None:
            self._source, self._path = self._opened(path), path
            self._held.enter_context(self._catalog.holding(self._source))
        elif path != self._path:
            raise UnsupportedFeatureError(
                "a MERGE follows the changes of one table, and not of 2:"
                f" {', '.join(sorted((path, self._path)))}",
                feature=FOLLOWED,
            )
        if self._seen is None or self.is_idle:
            return _all_as_inserts(self._source, path, "FALSE" if self.is_idle else "TRUE")
        return f"{FOLLOWED}({quote_literal(path)}, {self._first}, {self._last})"

    def ensure_followed(self) -> None:
        """Raise `UnsupportedFeatureError` for an ``is_incremental()`` beside no changes."""
        if self._asks and self._source is None:
            raise UnsupportedFeatureError(
                f"{_IS_INCREMENTAL}() is about {FOLLOWED}('path'), which the query does not read",
                feature=_IS_INCREMENTAL,
            )

    @property
    def is_following(self) -> bool:
        """Whether changes are followed: their progress is then that of the application."""
        return self._source is not None

    @property
    def is_idle(self) -> bool:
        """Whether changes are followed, and there are no new ones."""
        return self._source is not None and self._first > self._last

    @property
    def versions(self) -> dict[str, tuple[int, int]]:
        """The first and the last version whose changes are new, by the path of the table."""
        return {} if self._source is None else {self._path: (self._first, self._last)}

    def progress(self, properties: CommitProperties | None) -> CommitProperties | None:
        """Return the properties of a commit with the version up to which changes are taken in."""
        if self._source is None or self._application is None:
            return properties
        done = [Transaction(self._application, self._last)]
        metadata = None if properties is None else properties.custom_metadata
        return CommitProperties(custom_metadata=metadata, app_transactions=done)

    def _opened(self, path: str) -> Snapshot:
        found = self._catalog.find(("delta", path))
        assert found is not None  # A place without a table is an error.
        return found

    @property
    def _first(self) -> int:
        return 0 if self._seen is None else self._seen + 1

    @property
    def _last(self) -> int:
        assert self._source is not None
        return self._source.version


def followed(following: Following | None, name: str, arguments: tuple[object, ...]) -> str | None:
    """The new changes of a table, if a call in the query of a MERGE asks for them."""
    match arguments:
        case (str(path),) if following is not None and name.lower() == FOLLOWED:
            return following.changes(path)
    return None


def _all_as_inserts(table: Snapshot, path: str, condition: str) -> str:
    """The rows of a table as a feed of changes begins with them."""
    columns = (
        f"'{ChangeType.INSERT}' AS {CHANGE_TYPE}",
        f"{table.version}::BIGINT AS {COMMIT_VERSION}",
        f"make_timestamptz({table.timestamp_ms * 1000}) AS {COMMIT_TIMESTAMP}",
    )
    place = f"delta.{quote_identifier(path)} AT (VERSION => {table.version})"
    return f"(SELECT *, {', '.join(columns)} FROM {place} WHERE {condition})"
