from tests.support.stores import s3_options

__all__ = ["s3_options"]
