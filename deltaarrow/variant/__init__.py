"""Variants: their binary form, written and read, and columns of them, shredded or not.

Implements Parquet's VariantEncoding.md and VariantShredding.md, on which *Variant Data Type* and
*Variant Shredding* of PROTOCOL.md rest. A column of variants is ``struct<metadata: binary, value: binary>``.
"""

from deltaarrow.variant.binary import Moment, parse, parse_metadata, split, visit
from deltaarrow.variant.builder import Variant, build, encode, variant_array
from deltaarrow.variant.extract import parse_path, variant_extract, variant_get
from deltaarrow.variant.json import to_json
from deltaarrow.variant.layout import EMPTY_METADATA, VARIANT_NULL, VARIANT_TYPE, Primitive
from deltaarrow.variant.shredding import reassemble, shredded_type

__all__ = [
    "EMPTY_METADATA",
    "VARIANT_NULL",
    "VARIANT_TYPE",
    "Moment",
    "Primitive",
    "Variant",
    "build",
    "encode",
    "parse",
    "parse_metadata",
    "parse_path",
    "reassemble",
    "shredded_type",
    "split",
    "to_json",
    "variant_array",
    "variant_extract",
    "variant_get",
    "visit",
]
