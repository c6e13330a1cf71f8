"""Redaction of secrets in texts for people: errors, logs, the `repr` of objects, explanations of scans.

The URI of a table may contain secrets: ``https://user:password@host/t``, ``https://host/t?sig=...``. Objects
keep the whole URI, since reading needs the secrets; texts that show it pass through `redacted`.
"""

import re

__all__ = ["redacted"]

_HIDDEN = "***"

_USER = re.compile(r"(?<=://)[^/?#\s'\"@]*(?:@[^/?#\s'\"@]*)*@")
_TELLING = "sig|token|secret|passw|pwd|credential|delegation|access|key|auth|code|policy"
_PARAMETER = re.compile(rf"([?&;][\w.%-]*(?:{_TELLING})[\w.%-]*=)[^&;\s'\"#<>)]*", re.IGNORECASE)


def redacted(text: str) -> str:
    """Return a text without the user names, passwords and secret parameter values in its URIs.

    >>> redacted("cannot reach 'https://ann:pass@host/t?sig=a%2Fb&sv=2024'")
    "cannot reach 'https://***@host/t?sig=***&sv=2024'"
    """
    if "://" in text:
        text = _USER.sub(f"{_HIDDEN}@", text)
    return _PARAMETER.sub(rf"\1{_HIDDEN}", text) if "=" in text else text
