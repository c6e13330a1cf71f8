"""Stand-ins for functions of ``deltalake`` about its native code, for scripts that call them."""

import warnings

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.version import VERSION

__all__ = ["ExperimentalWarning", "enable_nanosecond_timestamps", "init_tracing", "rust_core_version"]


class ExperimentalWarning(Warning):
    """The warning of ``deltalake`` for what may change; this package does not give it."""


def rust_core_version() -> str:
    """Return the version of this package, which has no native code of its own.

    >>> rust_core_version() == __import__("deltaarrow").__version__
    True
    """
    return VERSION


def init_tracing(endpoint: str | None = None) -> None:
    """Warn that no spans are sent: this package does not trace itself with OpenTelemetry.

    Args:
        endpoint: accepted for ``deltalake`` and ignored.
    """
    warnings.warn(
        "deltaarrow sends no OpenTelemetry spans, so init_tracing has no effect; the loggers below"
        " 'deltaarrow' of the module logging tell of commits and files",
        UserWarning,
        stacklevel=2,
    )


def enable_nanosecond_timestamps() -> None:
    """Refuse nanosecond timestamps, which the protocol does not have and Spark does not read.

    Raises:
        UnsupportedFeatureError: always; cast the columns to microseconds before they are written.
    """
    raise UnsupportedFeatureError(
        "nanosecond timestamps are not part of the Delta protocol, and Spark cannot read such tables;"
        " cast them to microseconds, or keep them as a long",
        feature="timestampNanos",
    )
