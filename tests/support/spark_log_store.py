"""Commits by the steps of Spark's S3DynamoDBLogStore, made by hand with requests of S3 and DynamoDB.

The steps, the names and the types of the attributes are those that Delta publishes.
"""

import functools
import time
import uuid
from typing import Any

import boto3

__all__ = ["SparkLogStore", "create_lock_table"]

_DAY_SECONDS = 86_400


def _client(service: str, options: dict[str, Any]) -> Any:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION", "AWS_ENDPOINT_URL")
    return _made_client(service, *(options[name] for name in names))


@functools.lru_cache(maxsize=4)  # to make one takes longer than a test does with it
def _made_client(service: str, key: str, secret: str, region: str, url: str) -> Any:
    return boto3.client(
        service,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=region,
        endpoint_url=url,
    )


def create_lock_table(options: dict[str, Any], name: str) -> None:
    """Create a table for locks, as Spark does."""
    keys = ("tablePath", "fileName")
    _client("dynamodb", options).create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=True)
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )


class SparkLogStore:
    """The log of one table; `path` is ``s3a://bucket/t``."""

    def __init__(self, options: dict[str, Any], lock_table: str, path: str) -> None:
        self.s3, self.dynamodb = _client("s3", options), _client("dynamodb", options)
        self.lock_table, self.path = lock_table, path
        self.bucket, _, self.root = path.partition("://")[2].partition("/")

    def entry(self, version: int) -> dict[str, Any] | None:
        """The item of a version, as DynamoDB has it."""
        key = {"tablePath": {"S": self.path}, "fileName": {"S": f"{version:020}.json"}}
        answer = self.dynamodb.get_item(TableName=self.lock_table, Key=key, ConsistentRead=True)
        return answer.get("Item")

    def read(self, name: str) -> bytes | None:
        """A file of the log; None if there is none."""
        try:
            found = self.s3.get_object(Bucket=self.bucket, Key=f"{self.root}/_delta_log/{name}")
        except self.s3.exceptions.NoSuchKey:
            return None
        return found["Body"].read()

    def names(self) -> list[str]:
        """The files of the log, those in its folders too."""
        prefix = f"{self.root}/_delta_log/"
        found = self.s3.list_objects_v2(Bucket=self.bucket, Prefix=prefix).get("Contents", ())
        return [each["Key"].removeprefix(prefix) for each in found]

    def commit(self, version: int, data: bytes, steps: int = 4) -> bool:
        """Make a version by the first of the four steps; False if another writer has it."""
        name = f"{version:020}.json"
        if self.read(name) is not None:
            return False
        before = self.entry(version - 1) if version else None
        if before is not None:
            self.fix(before)
        item = {
            "tablePath": {"S": self.path},
            "fileName": {"S": name},
            "tempPath": {"S": f".tmp/{name}.{uuid.uuid4()}"},
            "complete": {"S": "false"},
        }
        self._put(item["tempPath"]["S"], data)
        if steps < 2:
            return True
        try:
            self.dynamodb.put_item(
                TableName=self.lock_table, Item=item, Expected={"fileName": {"Exists": False}}
            )
        except self.dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        if steps > 2:
            self._put(name, data)
        if steps > 3:
            self._complete(item)
        return True

    def fix(self, item: dict[str, Any]) -> None:
        """Do the steps that the writer of an item has left."""
        if item["complete"]["S"] == "true":
            return
        name, temporary = item["fileName"]["S"], item["tempPath"]["S"]
        if self.read(name) is None and (data := self.read(temporary)) is not None:
            self._put(name, data)
        self._complete(item)

    def _put(self, name: str, data: bytes) -> None:
        self.s3.put_object(Bucket=self.bucket, Key=f"{self.root}/_delta_log/{name}", Body=data)

    def _complete(self, item: dict[str, Any]) -> None:
        expires = {"N": str(int(time.time()) + _DAY_SECONDS)}
        done = {**item, "complete": {"S": "true"}, "expireTime": expires}
        self.dynamodb.put_item(TableName=self.lock_table, Item=done)
