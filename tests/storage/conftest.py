from tests.support.stores import place, s3_options, writable_place

__all__ = ["place", "s3_options", "writable_place"]
