"""The typed tree of an expression, and the errors that refer to its source."""

__all__: list[str] = []
