from tests.support.stores import cloud, place, s3_options, servers, writable_place

__all__ = ["cloud", "place", "s3_options", "servers", "writable_place"]
