from tests.engines.conftest import engine

__all__ = ["engine"]
