"""Runs the command line for ``python -m deltaarrow``."""

from deltaarrow.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
