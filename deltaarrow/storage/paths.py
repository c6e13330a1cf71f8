"""Paths as the log spells them and names as a `Store` takes them; chapter "Add File and Remove File".

``add.path`` is a URI: percent-encoded, relative to the table's root or absolute. A store takes the decoded
form, which is also the key by which log replay matches actions on one file:

======================================== ================================= ============================
meaning                                  in the log                        name (decoded)
======================================== ================================= ============================
a file of the table                      ``part-0.parquet``                ``part-0.parquet``
the folder ``p=a b%3A`` (Hive-escaped)   ``p=a%20b%253A/part-0.parquet``   ``p=a b%3A/part-0.parquet``
an absolute local file                   ``file:/t/f``, ``file:///t/f``,   ``/t/f``
                                         ``/t/f``
a file of an object store                ``s3://bucket/t/a%20b``           ``s3://bucket/t/a b``
======================================== ================================= ============================
"""

import posixpath
import re

from deltaarrow.errors import StorageError

__all__ = ["canonical_path_sql", "decode_path", "encode_path", "ensure_inside", "scheme_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")

# What java.net.URI escapes in a path: every ASCII character except its "pchar", ";" and "/"; of all other
# characters the control characters and the spaces. "%" itself is always escaped. (The opposite set would be a
# shorter pattern, but takes six times as long to compile.)
_ESCAPED = re.compile(
    r"[\x00-\x20\"#%<>?\[\\\]^`{|}\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)


def decode_path(log_path: str) -> str:
    """Return the store name of a path in the log; its canonical key.

    An escape without two hexadecimal digits is kept, and a path whose escapes are not UTF-8 is kept whole.
    ``file://host/...`` keeps its host, so that no store takes it for a local file.

    >>> decode_path("p=a%20b%253A/part-0.parquet")
    'p=a b%3A/part-0.parquet'
    >>> decode_path("file:///t/f") == decode_path("file:/t/f") == decode_path("/t/f") == "/t/f"
    True
    """
    path = log_path
    # A slice is compared twice as fast as `startswith`, and a long log has a path in every line.
    if "%" not in path and path[:5] != "file:":
        return path
    if path.startswith("file:///"):
        path = path[len("file://") :]
    elif path.startswith("file:/") and not path.startswith("file://"):
        path = path[len("file:") :]
    if "%" not in path:
        return path
    from urllib.parse import unquote_to_bytes

    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeError:
        return path


def encode_path(name: str) -> str:
    """Return the store name `name` as Spark spells it in the log: Hadoop's ``Path.toUri().toString()``.

    ``decode_path(encode_path(name)) == name`` for every name that `decode_path` returns.

    >>> encode_path("p=a b%3A%2F%3D%251/part-0.parquet")
    'p=a%20b%253A%252F%253D%25251/part-0.parquet'
    >>> encode_path("/clone of/t/é.parquet")
    'file:/clone%20of/t/é.parquet'
    """
    if name.startswith("/"):
        return ("file://" if name.startswith("//") else "file:") + _escape(name)
    scheme = _SCHEME.match(name)
    if scheme and scheme[1] != "file":
        return scheme[0] + _escape(name[scheme.end() :])
    # A colon in the first segment of a relative path would end a scheme.
    first, slash, rest = name.partition("/")
    return _escape(first).replace(":", "%3A") + slash + _escape(rest)


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), text)


def canonical_path_sql(expression: str) -> str:
    """Return DuckDB SQL whose value is `decode_path` of the VARCHAR `expression`, NULL for NULL.

    `expression` is trusted SQL text, not a name: it is inserted unchanged.
    """
    # Few functions: DuckDB binds this in each log query, which takes longer than evaluating a few paths.
    local = f"regexp_replace({expression}, '^file:(///|/([^/]|$))', '/\\2')"
    decoded = f"coalesce(TRY(url_decode({local})), {local})"
    is_local = f"starts_with({expression}, 'file:/')"
    return (
        f"(CASE WHEN contains({expression}, '%') THEN {decoded}"
        f" WHEN {is_local} THEN {local} ELSE {expression} END)"
    )


def scheme_of(name: str) -> str | None:
    """Return the lower-case scheme of ``scheme://...``, None for a relative name or a local path.

    >>> scheme_of("S3A://bucket/t"), scheme_of("/t/f"), scheme_of("day=1/f.parquet")
    ('s3a', None, None)
    """
    match = _SCHEME.match(name)
    return match[1].lower() if match else None


def ensure_inside(name: str) -> str:
    """Return the relative `name` with its ``..`` resolved, or raise `StorageError` if it leaves the root.

    Names come from the log, which anybody may have written.

    >>> ensure_inside("day=1/../f.parquet")
    'f.parquet'
    """
    if ".." not in name or ".." not in name.split("/"):
        return name
    resolved = posixpath.normpath(name)
    if resolved == ".." or resolved.startswith("../"):
        raise StorageError(f"the relative path {name!r} leaves the folder of the table")
    return resolved
