"""Variants: their binary form, written and read, and columns of them, shredded or not.

Implements Parquet's VariantEncoding.md and VariantShredding.md, on which *Variant Data Type* and
*Variant Shredding* of PROTOCOL.md rest. A column of variants is ``struct<metadata: binary, value: binary>``.
"""

from deltaarrow.variant.binary import Moment, parse, parse_metadata, split, visit
from deltaarrow.variant.builder import Variant, build, encode, variant_array
from deltaarrow.variant.columns import convert_variants, holds_variant
from deltaarrow.variant.extract import parse_path, variant_extract, variant_get
from deltaarrow.variant.json import to_json
from deltaarrow.variant.layout import EMPTY_METADATA, VARIANT_NULL, VARIANT_TYPE, Primitive
from deltaarrow.variant.parsing import MAX_VARIANT_SIZE, parse_json
from deltaarrow.variant.shapes import MAX_COLUMNS, SAMPLE_ROWS, Shape, infer_shape
from deltaarrow.variant.shredder import shred
from deltaarrow.variant.shredding import reassemble, shredded_type
from deltaarrow.variant.validity import ensure_variants

__all__ = [
    "EMPTY_METADATA",
    "MAX_COLUMNS",
    "MAX_VARIANT_SIZE",
    "SAMPLE_ROWS",
    "VARIANT_NULL",
    "VARIANT_TYPE",
    "Moment",
    "Primitive",
    "Shape",
    "Variant",
    "build",
    "convert_variants",
    "encode",
    "ensure_variants",
    "holds_variant",
    "infer_shape",
    "parse",
    "parse_json",
    "parse_metadata",
    "parse_path",
    "reassemble",
    "shred",
    "shredded_type",
    "split",
    "to_json",
    "variant_array",
    "variant_extract",
    "variant_get",
    "visit",
]
