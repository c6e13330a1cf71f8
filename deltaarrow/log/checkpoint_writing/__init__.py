"""Writing of checkpoints and sidecars."""

__all__: list[str] = []
