"""Delta Sharing: the shares of a server as a read-only catalog."""

__all__: list[str] = []
