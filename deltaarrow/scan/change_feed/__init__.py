"""The change data feed: its plan, its tasks and its reader."""

__all__: list[str] = []
