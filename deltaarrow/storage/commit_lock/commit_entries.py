"""`EntryTable`: entries of commits in DynamoDB, as Spark's S3DynamoDBLogStore and deltalake write them.

An item has the keys ``tablePath`` and ``fileName`` (``00000000000000000003.json``), and the attributes
``tempPath`` (the file that holds the commit, relative to ``_delta_log``), ``complete`` (``"true"`` if the
commit file exists, otherwise ``"false"``) and, once complete, ``expireTime`` (seconds since 1970, a number).
All other attributes are texts.
"""

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from deltaarrow.errors import CorruptLogError, StorageError
from deltaarrow.storage.commit_lock.lock_settings import LockSettings
from deltaarrow.storage.service import remedy_of

__all__ = ["CommitEntry", "EntryTable"]

_REMEDIES = {
    "resourcenotfoundexception": "check the name and the region, or create the table with the keys tablePath"
    " (HASH) and fileName (RANGE), both of type S",
    "accessdenied": "the credentials may not read or write the table",
    "unable to locate credentials": "give the credentials of S3, or those of DynamoDB by"
    " AWS_ACCESS_KEY_ID_DYNAMODB and AWS_SECRET_ACCESS_KEY_DYNAMODB",
    "must specify a region": "give AWS_REGION, or AWS_REGION_DYNAMODB",
    "could not connect to the endpoint": "check AWS_ENDPOINT_URL_DYNAMODB, AWS_REGION_DYNAMODB and"
    " the network",
    "throughput": "the table takes fewer requests than its writers make",
}
"""A part of what DynamoDB or its client says, in lower case -> what to do."""


class CommitEntry(NamedTuple):
    """The entry of one version of one table."""

    table_path: str
    """The location of the table, such as ``s3a://bucket/t``."""
    file_name: str
    """The name of the commit file in the log."""
    temporary_path: str
    """The file that holds the commit, relative to the log."""
    is_complete: bool
    """Whether the commit file is known to be there."""


class EntryTable:
    """The entries of one Delta table in the lock table."""

    def __init__(self, settings: LockSettings, table_path: str) -> None:
        self._settings, self.path = settings, table_path

    def newest(self) -> CommitEntry | None:
        """Return the entry of the newest version; None if there is none."""
        found = self._query("tablePath = :path", {}, ScanIndexForward=False, Limit=1)
        return found[0] if found else None

    def between(self, first: str, last: str) -> dict[str, CommitEntry]:
        """Return the entries of the commit files from `first` to `last`, by name."""
        condition = "tablePath = :path AND fileName BETWEEN :first AND :last"
        found = self._query(condition, {":first": {"S": first}, ":last": {"S": last}})
        return {entry.file_name: entry for entry in found}

    def put_new(self, file_name: str, temporary_path: str) -> CommitEntry:
        """Create an incomplete entry, and return the entry that is there: this one, or another writer's.

        If the answer to the request is lost, its repetition finds the entry there.
        """
        entry = CommitEntry(self.path, file_name, temporary_path, False)
        try:
            self._call("put_item", Item=_item(entry), ConditionExpression="attribute_not_exists(fileName)")
        except _ConditionNotMetError:
            return self.between(file_name, file_name).get(file_name, entry._replace(temporary_path=""))
        return entry

    def complete(self, entry: CommitEntry, now_seconds: int) -> None:
        """Mark an entry as complete; nothing happens if it is, or if it is gone."""
        item = _item(entry._replace(is_complete=True))
        item["expireTime"] = {"N": str(now_seconds + self._settings.ttl_seconds)}
        with contextlib.suppress(_ConditionNotMetError):
            self._call(
                "put_item",
                Item=item,
                ConditionExpression="#complete = :false AND tempPath = :temporary",
                ExpressionAttributeNames={"#complete": "complete"},
                ExpressionAttributeValues={
                    ":false": {"S": "false"},
                    ":temporary": {"S": entry.temporary_path},
                },
            )

    def _query(self, condition: str, values: Mapping[str, Any], **limits: Any) -> list[CommitEntry]:
        answer = self._call(
            "query",
            KeyConditionExpression=condition,
            ExpressionAttributeValues={":path": {"S": self.path}, **values},
            ConsistentRead=True,
            **limits,
        )
        return [self._entry(item) for item in answer.get("Items", ())]

    def _entry(self, item: Mapping[str, Any]) -> CommitEntry:
        try:
            name, temporary, complete = (item[key]["S"] for key in ("fileName", "tempPath", "complete"))
        except KeyError as error:
            raise CorruptLogError(
                f"an entry of {self.path} in the table {self._settings.table!r} of DynamoDB has no text"
                f" {error}"
            ) from None
        return CommitEntry(self.path, name, temporary, complete == "true")

    def _call(self, method: str, **request: Any) -> Any:
        with self._reaching():
            client = _client(os.getpid(), _Frozen(self._settings))
            return getattr(client, method)(TableName=self._settings.table, **request)

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except (BotoCoreError, ClientError) as error:
            response: dict[str, Any] = getattr(error, "response", None) or {}
            if response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
                raise _ConditionNotMetError from error
            said = str(error).rstrip(".")
            raise StorageError(
                f"cannot use the lock of {self.path}, the table {self._settings.table!r} in DynamoDB: {said}"
                f"{remedy_of(_REMEDIES, said)}"
            ) from error


class _ConditionNotMetError(Exception):
    """The condition of a put is not met."""


class _Frozen:
    """Settings as a key: two of the same text reach the same table with the same rights."""

    def __init__(self, settings: LockSettings) -> None:
        self.settings = settings
        self._key = repr((settings.profile, sorted(settings.client.items()), sorted(settings.config.items())))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frozen) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)


@functools.lru_cache(maxsize=16)
def _client(process: int, frozen: _Frozen) -> Any:
    """The client of a process for settings; threads may share it."""
    from botocore.config import Config
    from botocore.session import Session

    settings = frozen.settings
    session = Session(profile=settings.profile)
    return session.create_client("dynamodb", config=Config(**settings.config), **settings.client)


def _item(entry: CommitEntry) -> dict[str, dict[str, str]]:
    return {
        "tablePath": {"S": entry.table_path},
        "fileName": {"S": entry.file_name},
        "tempPath": {"S": entry.temporary_path},
        "complete": {"S": "true" if entry.is_complete else "false"},
    }
