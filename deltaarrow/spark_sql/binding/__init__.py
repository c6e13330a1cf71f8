"""Binding of SQL text to the typed tree, and its evaluation over batches."""

__all__: list[str] = []
