"""Redaction of secrets in texts that people read: errors, logs, the `repr` of objects, explanations of scans.

The URI of a table may hold secrets: ``https://user:password@host/t``, ``https://host/t?sig=...``. Objects
keep the URI whole, since it takes the secrets to read there; texts that show it go through `redacted`.
"""

import re

__all__ = ["redacted"]

_HIDDEN = "***"

_USER = re.compile(r"(?<=://)[^/?#\s'\"@]*(?:@[^/?#\s'\"@]*)*@")
_TELLING = "sig|token|secret|passw|pwd|credential|delegation|access|key|auth|code|policy"
_PARAMETER = re.compile(rf"([?&;][\w.%-]*(?:{_TELLING})[\w.%-]*=)[^&;\s'\"#<>)]*", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return a text without user names, passwords and the values of telling parameters in its URIs.

    >>> redacted("cannot reach 'https://ann:pass@host/t?sig=a%2Fb&sv=2024'")
    "cannot reach 'https://***@host/t?sig=***&sv=2024'"
    """
    if "://" in text:
        text = _USER.sub(f"{_HIDDEN}@", text)
    return _PARAMETER.sub(rf"\1{_HIDDEN}", text) if "=" in text else text
