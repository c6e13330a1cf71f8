from tests.support.stores import cloud, hub, place, s3_options, servers, writable_place

__all__ = ["cloud", "hub", "place", "s3_options", "servers", "writable_place"]
