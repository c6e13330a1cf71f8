"""What each statement does: one call of a method that a Python user would call."""

__all__: list[str] = []
