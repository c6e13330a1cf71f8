"""What a run logs, for tests that look for secrets in it."""

import logging

import pytest

__all__ = ["capture_logs", "logged"]

_WITH_REQUESTS = ("aiobotocore", "botocore", "fsspec", "s3fs")
"""Libraries that log what they send at the level DEBUG: addresses, keys of users and tokens of sessions."""


def capture_logs(caplog: pytest.LogCaptureFixture) -> None:
    """Capture what every library logs, at every level."""
    caplog.set_level(logging.DEBUG)


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return what was logged, except for the requests that libraries log at the level DEBUG."""
    shown = logging.Formatter("%(levelname)s %(name)s %(message)s")
    return "\n".join(
        shown.format(record)
        for record in caplog.records
        if record.levelno > logging.DEBUG or record.name.partition(".")[0] not in _WITH_REQUESTS
    )
