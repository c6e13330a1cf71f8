"""The handlers of statements; each calls the method that a Python user would call."""

__all__: list[str] = []
