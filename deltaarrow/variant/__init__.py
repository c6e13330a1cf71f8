"""Variants: their binary form, written and read, and columns of them, shredded or not.

Implements Parquet's VariantEncoding.md and VariantShredding.md, on which *Variant Data Type* and
*Variant Shredding* of PROTOCOL.md rest. A column of variants is ``struct<metadata: binary, value: binary>``.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
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

__getattr__ = lazy_attributes(
    __name__,
    {
        "EMPTY_METADATA": "deltaarrow.variant.layout",
        "MAX_COLUMNS": "deltaarrow.variant.shapes",
        "MAX_VARIANT_SIZE": "deltaarrow.variant.parsing",
        "Moment": "deltaarrow.variant.binary",
        "Primitive": "deltaarrow.variant.layout",
        "SAMPLE_ROWS": "deltaarrow.variant.shapes",
        "Shape": "deltaarrow.variant.shapes",
        "VARIANT_NULL": "deltaarrow.variant.layout",
        "VARIANT_TYPE": "deltaarrow.variant.layout",
        "Variant": "deltaarrow.variant.builder",
        "build": "deltaarrow.variant.builder",
        "convert_variants": "deltaarrow.variant.columns",
        "encode": "deltaarrow.variant.builder",
        "ensure_variants": "deltaarrow.variant.validity",
        "holds_variant": "deltaarrow.variant.columns",
        "infer_shape": "deltaarrow.variant.shapes",
        "parse": "deltaarrow.variant.binary",
        "parse_json": "deltaarrow.variant.parsing",
        "parse_metadata": "deltaarrow.variant.binary",
        "parse_path": "deltaarrow.variant.extract",
        "reassemble": "deltaarrow.variant.shredding",
        "shred": "deltaarrow.variant.shredder",
        "shredded_type": "deltaarrow.variant.shredding",
        "split": "deltaarrow.variant.binary",
        "to_json": "deltaarrow.variant.json",
        "variant_array": "deltaarrow.variant.builder",
        "variant_extract": "deltaarrow.variant.extract",
        "variant_get": "deltaarrow.variant.extract",
        "visit": "deltaarrow.variant.binary",
    },
)
