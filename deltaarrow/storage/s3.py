"""Listings of S3 that begin at a name, and what to do about S3's refusals."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import fsspec

__all__ = ["list_s3_objects", "s3_remedy"]

_REMEDIES = {
    "could not connect to the endpoint": "check AWS_ENDPOINT_URL, AWS_REGION and the network",
    "unable to locate credentials": "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or"
    " AWS_SKIP_SIGNATURE='true' for public data",
    "access key id you provided": "check AWS_ACCESS_KEY_ID",
    "signature": "check AWS_SECRET_ACCESS_KEY",
    "token": "check AWS_SESSION_TOKEN; it may have expired",
    "config profile": "check AWS_PROFILE",
    "bucket does not exist": "check the name of the bucket",
    "timeout": "check AWS_ENDPOINT_URL and the network, or give a longer timeout",
    "access denied": "the credentials are known and may not do this",
    "forbidden": "the credentials are wrong or may not do this",
}
"""A part of what S3 or its client says, in lower case -> what to do."""


def s3_remedy(said: str) -> str:
    """Return the end of a message on a refusal of S3: what to do; empty if that is unknown."""
    found = next((remedy for part, remedy in _REMEDIES.items() if part in said.lower()), None)
    return "" if found is None else f"; {found}"


def list_s3_objects(filesystem: "fsspec.AbstractFileSystem", folder: str, start: str) -> list[dict[str, Any]]:
    """Return the objects directly in `folder` from `start` on, in s3fs's form; maybe a few before it.

    s3fs itself always lists from the beginning, in pages of 1,000 objects.
    """
    bucket, key, _ = filesystem.split_path(folder)
    prefix = f"{key.rstrip('/')}/" if key else ""
    request = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/", **filesystem.req_kw}
    if len(start) > 1:
        # StartAfter is exclusive: drop the last character, so that `start` itself is included.
        request["StartAfter"] = prefix + start[:-1]
    objects = []
    while True:
        page = filesystem.call_s3("list_objects_v2", **request)
        objects += [
            {"name": f"{bucket}/{found['Key']}", "size": found["Size"], "type": "file", **found}
            for found in page.get("Contents", ())
        ]
        if not page.get("IsTruncated"):
            return objects
        request["ContinuationToken"] = page["NextContinuationToken"]
