"""Verifying a table: its log against itself, its log against storage, its statistics against its data.

`deltaarrow.verify.report.Check` says what is checked and in which chapter of the protocol it stands.
Everything is reported and nothing repaired.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    from deltaarrow.verify.report import Check, Finding, Severity, VerifyReport
    from deltaarrow.verify.verification import verify_snapshot

__all__ = ["Check", "Finding", "Severity", "VerifyReport", "verify_snapshot"]

__getattr__ = lazy_attributes(
    __name__,
    {
        "Check": "deltaarrow.verify.report",
        "Finding": "deltaarrow.verify.report",
        "Severity": "deltaarrow.verify.report",
        "VerifyReport": "deltaarrow.verify.report",
        "verify_snapshot": "deltaarrow.verify.verification",
    },
)
