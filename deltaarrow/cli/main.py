"""The entry point of the script: runs the application, or names the missing extra."""

import sys

from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.runtime.optional import EXTRAS

__all__ = ["main"]

_lazily = lazy_attributes(__name__, {"app": "deltaarrow.cli.app"})


def main() -> None:
    """Run the command line in `sys.argv` and exit: 0 done, 1 refused by the engine, 2 wrong usage."""
    try:
        _lazily("app")(prog_name="deltaarrow")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in EXTRAS:
            raise
        extra = EXTRAS[missing]
        print(f"error: {missing} is not installed; run: pip install 'deltaarrow[{extra}]'", file=sys.stderr)
        raise SystemExit(1) from None
