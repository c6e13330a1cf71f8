"""The shell command ``deltaarrow``: a table's history, details and files, queries over it, and a demo.

`deltaarrow.cli.main` is the entry point; it works without typer and rich as far as naming the
``pip install`` that brings them.
"""

__all__: list[str] = []
