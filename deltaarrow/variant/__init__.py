"""Variants: reading and writing of their binary form, and columns of variants, shredded or not.

Implements Parquet's VariantEncoding.md and VariantShredding.md, on which *Variant Data Type* and
*Variant Shredding* of PROTOCOL.md build. A column of variants is ``struct<metadata: binary, value: binary>``.
"""

from typing import TYPE_CHECKING

from deltaarrow.runtime.lazy import lazy_package

if TYPE_CHECKING:
    from deltaarrow.variant.binary import (
        Moment as Moment,
        parse as parse,
        parse_metadata as parse_metadata,
        split as split,
        visit as visit,
    )
    from deltaarrow.variant.builder import (
        Variant as Variant,
        build as build,
        encode as encode,
        variant_array as variant_array,
    )
    from deltaarrow.variant.elements import variant_elements as variant_elements
    from deltaarrow.variant.encoding_numbers import (
        EMPTY_METADATA as EMPTY_METADATA,
        VARIANT_NULL as VARIANT_NULL,
        VARIANT_TYPE as VARIANT_TYPE,
        Primitive as Primitive,
    )
    from deltaarrow.variant.extract import (
        parse_path as parse_path,
        variant_extract as variant_extract,
        variant_get as variant_get,
    )
    from deltaarrow.variant.from_json_text import (
        MAX_VARIANT_SIZE as MAX_VARIANT_SIZE,
        parse_json as parse_json,
    )
    from deltaarrow.variant.nested_columns import (
        convert_variants as convert_variants,
        holds_variant as holds_variant,
    )
    from deltaarrow.variant.shapes import (
        MAX_COLUMNS as MAX_COLUMNS,
        SAMPLE_ROWS as SAMPLE_ROWS,
        Shape as Shape,
        infer_shape as infer_shape,
    )
    from deltaarrow.variant.shredder import shred as shred
    from deltaarrow.variant.shredding import reassemble as reassemble, shredded_type as shredded_type
    from deltaarrow.variant.to_json_text import to_json as to_json
    from deltaarrow.variant.well_formed import ensure_variants as ensure_variants

__getattr__ = lazy_package(__name__)
