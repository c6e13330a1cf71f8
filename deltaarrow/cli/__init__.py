"""The shell command ``deltaarrow``: a table's history, details and files, queries over it, and a demo.

`deltaarrow.cli.main` is the entry point. Without typer and rich it only prints the ``pip install`` command
for them.
"""

__all__: list[str] = []
