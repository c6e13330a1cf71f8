"""Runs the shell script when Python is told to run the package."""

from deltaarrow.cli.main import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
