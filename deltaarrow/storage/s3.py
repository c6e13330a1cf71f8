"""Options of S3, in deltalake's spelling or s3fs's, and listings that begin at a name."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import StorageError

if TYPE_CHECKING:
    import fsspec

__all__ = ["list_s3_objects", "s3fs_options"]

_S3FS_NAMES = {
    "access_key_id": ("key",),
    "secret_access_key": ("secret",),
    "session_token": ("token",),
    "token": ("token",),
    "region": ("client_kwargs", "region_name"),
    "default_region": ("client_kwargs", "region_name"),
    "endpoint": ("endpoint_url",),
    "endpoint_url": ("endpoint_url",),
    "skip_signature": ("anon",),
    "request_payer": ("requester_pays",),
    "virtual_hosted_style_request": ("config_kwargs", "s3", "addressing_style"),
    "allow_invalid_certificates": ("client_kwargs", "verify"),
}
"""deltalake's option, in lower case and without ``aws_`` -> its place in s3fs's arguments."""

_FLAGS = {"skip_signature", "request_payer", "virtual_hosted_style_request", "allow_invalid_certificates"}

_OF_WRITERS = {
    "s3_allow_unsafe_rename",
    "s3_locking_provider",
    "conditional_put",
    "copy_if_not_exists",
}
"""Options that choose how deltalake commits; ignored here."""


def s3fs_options(storage_options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``s3fs.S3FileSystem`` for the given options.

    deltalake's keys (``AWS_ACCESS_KEY_ID``, ``aws_region``, ...; upper or lower case) are translated; all
    other keys are passed to s3fs. Raises `StorageError` for an unknown ``aws_`` key, and for two keys that
    disagree.

    >>> s3fs_options({"AWS_REGION": "eu-west-1", "anon": True})["client_kwargs"]
    {'region_name': 'eu-west-1'}
    """
    options: dict[str, Any] = {}
    translated: dict[tuple[str, ...], Any] = {}
    allow_http = True
    for key, value in storage_options.items():
        name = key.lower().removeprefix("aws_")
        if name == "allow_http":
            allow_http = _flag(key, value)
        elif name in _S3FS_NAMES:
            value = _s3fs_value(name, key, value)
            if translated.setdefault(_S3FS_NAMES[name], value) != value:
                raise StorageError(
                    f"the storage option {key!r} disagrees with another of the same meaning; remove one of"
                    " them"
                )
        elif key.lower().startswith("aws_") and name not in _OF_WRITERS:
            raise StorageError(f"unknown storage option {key!r}; check its spelling")
        elif name not in _OF_WRITERS:
            options[key] = value
    for path, value in translated.items():
        _put(options, path, value)
    if not allow_http and str(options.get("endpoint_url", "")).lower().startswith("http://"):
        raise StorageError("the endpoint is http://, which the storage option allow_http forbids")
    # Parquet readers request the ranges that they need. With s3fs's default, reading one of four columns of a
    # 71 MiB file in ten row groups fetched 355 MiB instead of 18.
    options.setdefault("default_cache_type", "none")
    return options


def _s3fs_value(name: str, key: str, value: Any) -> Any:
    if name not in _FLAGS:
        return value
    flag = _flag(key, value)
    if name == "virtual_hosted_style_request":
        return "virtual" if flag else "path"
    return not flag if name == "allow_invalid_certificates" else flag


def _put(options: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    *outer, last = path
    for key in outer:
        # Copy, because the mapping may belong to the caller.
        options[key] = dict(options.get(key) or {})
        options = options[key]
    if options.setdefault(last, value) != value:
        raise StorageError(
            f"the storage option {'.'.join(path)!r} is given twice, with different values; remove one of them"
        )


def _flag(key: str, value: Any) -> bool:
    text = str(value).lower()
    if text in ("true", "1", "yes", "on", "y"):
        return True
    if text in ("false", "0", "no", "off", "n"):
        return False
    raise StorageError(f"the storage option {key!r} must be true or false, and has neither value")


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
