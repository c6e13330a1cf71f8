"""The entry point of the script: it runs the application, or names the missing extra."""

import sys

from deltaarrow.runtime.optional import EXTRAS

try:
    from deltaarrow.cli import app as application
except ModuleNotFoundError as error:
    _missing: str | None = (error.name or "").partition(".")[0]
    if _missing not in EXTRAS:
        raise
else:
    _missing = None

__all__ = ["main"]


def main() -> None:
    """Run the command line in `sys.argv` and exit: 0 done, 1 refused by the engine, 2 wrong usage."""
    if _missing is not None:
        extra = EXTRAS[_missing]
        print(f"error: {_missing} is not installed; run: pip install 'deltaarrow[{extra}]'", file=sys.stderr)
        raise SystemExit(1)
    application.app(prog_name="deltaarrow")
