"""The version of this package, and its name in the log."""

__all__ = ["ENGINE_INFO", "VERSION"]

VERSION = "0.1.0"
ENGINE_INFO = f"deltaarrow/{VERSION}"
"""The `engineInfo` of the commits of this package."""
