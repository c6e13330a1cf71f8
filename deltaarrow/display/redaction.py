"""Redaction of secrets in texts for people: errors, logs, the `repr` of objects, explanations of scans.

The URI of a table may contain secrets: ``https://user:password@host/t``, ``https://host/t?sig=...``. Objects
keep the whole URI, since reading needs the secrets; texts that show it pass through `redacted`. So do
statements, whose settings and secrets may hold passwords: ``SET s3_secret_access_key = '...'``.
"""

import itertools
import re
from collections.abc import Iterator

__all__ = ["holds_secret", "redacted", "without_secrets_of"]

_HIDDEN = "***"

# A container of Azure stands where other URIs have a user: abfss://container@account.dfs.core.windows.net.
_CONTAINER = "".join(f"(?<!{scheme}://)" for scheme in ("abfs", "abfss", "wasb", "wasbs"))
_USER = re.compile(
    rf"(?<=://)(?:{_CONTAINER}|(?=[^/?#\s'\"@]*:))[^/?#\s'\"@]*(?:@[^/?#\s'\"@]*)*@", re.IGNORECASE
)
_PASSWORD = re.compile(r"://[^/?#@]*:[^/?#]*@|^https?://[^/?#]*@", re.IGNORECASE)
"""A user and a password; on web servers a user alone may be a token."""
_PORT = re.compile(
    r"""(?<=://)((?:[^/?#\s'"`@:]*@)?(?:\[[^/\s'"\]]*\]|[^/?#\s'"`@:\[\]]+):)"""
    r"""(?!\d{0,5}(?:$|[]/?#\s'"`,;:.)}<>&]))(?:[^\s'"`@]*(?=@)|[^/?#\s'"`]+)"""
)
"""What stands where a port does and is none: a password without its host, or one with a slash in it."""
_HUB_USER = re.compile(r"""(?<=hf://)((?:[a-z]+/)?)[^/?#\s'"@]*:[^?#\s'"@]*@""", re.IGNORECASE)
"""A user and a password after the kind of a repository of Hugging Face, as in hf://datasets/ann:pass@."""
_TELLING = "sig|token|secret|passw|pwd|credential|delegation|access|key|auth|code|policy"
_PARAMETER = re.compile(rf"([?&;][\w.%-]*(?:{_TELLING})[\w.%-]*=)[^&;\s'\"#<>)]*", re.IGNORECASE)
_NAMES = "secret|password|passwd|pwd|token|credential|account.?key|access.?key|key_id"
_VALUE = r"(?:'(?:[^']|'')*'?|\"(?:[^\"]|\"\")*\"?|[^\s'\",;&)}\]]+)"
_SETTING = re.compile(
    rf"(\b[\w.-]{{0,60}}(?:{_NAMES})[\w.-]{{0,60}}['\"]?\s*(?:=>|==?|:)\s*){_VALUE}", re.IGNORECASE
)
_CLAUSE = re.compile(r"(\b(?:SECRET|PASSWORD|SESSION_TOKEN|KEY_ID)\s+)'(?:[^']|'')*'?", re.IGNORECASE)
"""What follows the name of a secret in a statement such as CREATE SECRET."""

_ESCAPED = re.compile("%([0-9a-fA-F]{2})")


def redacted(text: str) -> str:
    """Return a text without the user names, passwords and secret parameter values in its URIs and settings.

    >>> redacted("cannot reach 'https://ann:pass@host/t?sig=a%2Fb&sv=2024'")
    "cannot reach 'https://***@host/t?sig=***&sv=2024'"
    >>> redacted("SET s3_secret_access_key = 'abc'"), redacted("CREATE SECRET (TYPE s3, SECRET 'abc')")
    ('SET s3_secret_access_key = ***', 'CREATE SECRET (TYPE s3, SECRET ***)')
    >>> redacted("https://host:pass/t"), redacted("hf://datasets/ann:pass@lake/t")
    ('https://host:***/t', 'hf://datasets/***@lake/t')
    >>> redacted("abfss://sales@lake.dfs.core.windows.net/t")
    'abfss://sales@lake.dfs.core.windows.net/t'
    """
    if "://" in text:
        text = _HUB_USER.sub(rf"\1{_HIDDEN}@", _USER.sub(f"{_HIDDEN}@", text))
        text = _PORT.sub(rf"\1{_HIDDEN}", text)
    if "=" in text:
        text = _PARAMETER.sub(rf"\1{_HIDDEN}", text)
    return _CLAUSE.sub(rf"\1{_HIDDEN}", _SETTING.sub(rf"\1{_HIDDEN}", text))


def holds_secret(uri: str) -> bool:
    """Whether a URI has a password or a secret parameter, so that it must not be kept where others read it.

    >>> holds_secret("sftp://ann:pass@host/t"), holds_secret("https://host/t?sig=abc")
    (True, True)
    >>> holds_secret("hdfs://ann@host:8020/t"), holds_secret("/data/token=5/t")
    (False, False)
    """
    kinds = (_PASSWORD, _PARAMETER, _PORT, _HUB_USER)
    return "://" in uri and any(each.search(uri) is not None for each in kinds)


def without_secrets_of(source: str, text: str) -> str:
    """Return a text without the secrets of a URI or a statement, which others may repeat in their own words.

    >>> without_secrets_of("s3://ann:pa55@bucket/t", "invalid bucket name 'ann:pa55@bucket'")
    "invalid bucket name '***@bucket'"
    """
    for secret in sorted({*_secrets(source)}, key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return text


def _secrets(source: str) -> Iterator[str]:
    users = (found[0].removesuffix("@") for found in _USER.finditer(source))
    named = (each.finditer(source) for each in (_PARAMETER, _SETTING, _CLAUSE, _HUB_USER))
    ports = _PORT.finditer(_USER.sub("", source))
    values = (found[0].removeprefix(found[1]).strip("'\"@") for found in itertools.chain(*named, ports))
    for secret in (*users, *values):
        yield from (
            each
            for each in (secret, _ESCAPED.sub(lambda code: chr(int(code[1], 16)), secret))
            if len(each) > 2
        )
