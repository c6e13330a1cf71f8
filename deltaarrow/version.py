"""The version of the package, and the name of the package in the log."""

__all__ = ["ENGINE_INFO", "VERSION"]

VERSION = "0.1.0"
ENGINE_INFO = f"deltaarrow/{VERSION}"
"""The `engineInfo` of the commits of this package."""
