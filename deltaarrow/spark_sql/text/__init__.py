"""SQL text before it has types: its tokens, its statements, and the dialects it may be written in."""

__all__: list[str] = []
