"""Conversion of JSON texts to variants, with the same bytes as Spark's ``parse_json``.

===================================================  ==================================================
JSON                                                 variant
===================================================  ==================================================
null, true, false, text                              the same; null becomes a variant, NULL stays NULL
a whole number                                       the narrowest of int8 to int64, or a decimal
a number without exponent, up to 38 digits           the narrowest decimal, with the written scale
any other number                                     double, infinite if it is too large for one
array                                                array
object                                               object: values in text order, fields sorted by name,
                                                     the dictionary in the order in which names occur
===================================================  ==================================================

Refused are duplicate names, as in Spark, and what Spark's parser silently drops: text after the value, and
halves of surrogate pairs. Nothing loops over rows, except that texts with escapes and numbers of more than 38
digits are read one by one.
"""

from decimal import Decimal

import numpy as np
import orjson
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, integers
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.variant.builder import encode
from deltaarrow.variant.containers import write_arrays, write_objects
from deltaarrow.variant.dictionary import order_of_names, write_dictionaries
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, VARIANT_TYPE, Basic, Primitive, header
from deltaarrow.variant.primitives import encode_primitives
from deltaarrow.variant.ragged import Bytes, Ints, Spans, bounds_of, distinct, gather, is_valid, pieces
from deltaarrow.variant.tokens import Token, Tokens, read_tokens

__all__ = ["MAX_VARIANT_SIZE", "parse_json"]

MAX_VARIANT_SIZE = 128 << 20
"""The most bytes of a variant's dictionary or value; Spark reads no more."""

_LARGE = pa.large_binary()
_BATCH_BYTES = 1 << 18
"""Small enough that everything derived from a batch stays in the processor's caches."""

_MAX_NUMBER = 1000
_SHOWN = 80
_NUMBER = r"\A-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\z"
_LITERALS = {b"null": None, b"true": True, b"false": False}
_INTEGER_TAGS = np.array(
    [
        header(Basic.PRIMITIVE, kind)
        for kind in (Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64)
    ],
    np.uint8,
)


def parse_json(texts: pa.Array | pa.ChunkedArray, *, max_size: int = MAX_VARIANT_SIZE) -> pa.StructArray:
    """The variants of JSON texts; NULL for NULL.

    Args:
        texts: a column of strings of any kind.
        max_size: how many bytes the dictionary or the value of a variant may have, 128 MiB by default.

    Raises:
        SchemaMismatchError: a text is not JSON (the message shows it), an object has two fields of one name,
            or a variant is too large.

    >>> from deltaarrow.variant import to_json
    >>> to_json(parse_json(pa.array(['{"b": [1.50, null], "a": "x"}', None]))).to_pylist()
    ['{"a":"x","b":[1.5,null]}', None]
    """
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.nulls(0, pa.large_string())
    if isinstance(texts, pa.DictionaryArray):
        # Each distinct text once.
        return parse_json(texts.dictionary, max_size=max_size).take(texts.indices)
    texts = texts.cast(pa.large_string())
    valid = is_valid(texts)
    present = texts.drop_null()
    try:
        present.validate(full=True)
    except pa.ArrowInvalid as error:
        raise SchemaMismatchError("a text is not UTF-8") from error
    metadata, value = [], []
    bounds = bounds_of(present)[1]
    start = 0
    while start < len(present):
        end = int(np.searchsorted(bounds, bounds[start] + _BATCH_BYTES, side="right")) - 1
        end = max(start + 1, end)
        names, encoded = _parse(present.slice(start, end - start), max_size)
        metadata.append(names)
        value.append(encoded)
        start = end
    parts = [pa.concat_arrays([pa.nulls(0, _LARGE), *blocks]) for blocks in (metadata, value)]
    if not valid.all():
        sources = integers(np.where(valid, np.cumsum(valid), 0))
        parts = [pc.take(pa.concat_arrays([pa.array([b""], _LARGE), part]), sources) for part in parts]
    return pa.StructArray.from_arrays(
        [part.cast(pa.binary()) for part in parts],
        fields=list(VARIANT_TYPE),
        mask=None if valid.all() else booleans(~valid),
    )


def _parse(texts: pa.Array, max_size: int) -> tuple[pa.Array, pa.Array]:
    """The metadata and values of some texts; an error shows the text at fault."""
    try:
        tokens = read_tokens(texts)
        metadata, ids, ranks = _dictionaries(tokens, len(texts))
        value = _values(tokens, ids, ranks)
        for part in (metadata, value):
            if (np.diff(bounds_of(part)[1]) > max_size).any():
                raise SchemaMismatchError(f"a variant has more than {max_size} bytes")
    except SchemaMismatchError as error:
        if len(texts) > 1:
            half = len(texts) // 2
            _parse(texts[:half], max_size)
            _parse(texts[half:], max_size)
        text = texts[0].as_py()
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
        raise SchemaMismatchError(f"{error}: {shown!r}") from None
    return metadata, value


def _dictionaries(tokens: Tokens, rows: int) -> tuple[pa.Array, Ints, Ints]:
    """The dictionary of each row; for each name, its id there and its rank in field order."""
    named = np.flatnonzero(tokens.is_name)
    encoded = _strings(tokens, named).dictionary_encode()
    names = encoded.dictionary
    codes = encoded.indices.to_numpy().astype(np.int64)
    owners = tokens.rows[named]
    _, firsts, inverse = np.unique(
        owners * max(1, len(names)) + codes, return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    firsts = firsts[order]
    counts = np.bincount(owners[firsts], minlength=rows)
    base = np.cumsum(counts) - counts
    metadata = write_dictionaries(owners[firsts], names.take(integers(codes[firsts])), rows)
    return metadata, places[inverse] - base[owners], order_of_names(names)[codes]


def _values(tokens: Tokens, ids: Ints, ranks: Ints) -> pa.Array:
    """The encoded values of the texts, built from the innermost outwards."""
    is_value = ~tokens.is_name
    leaves = np.flatnonzero(is_value & (tokens.kinds <= Token.STRING))
    primitives = _primitives(tokens, leaves)
    place = np.empty(len(tokens.kinds), np.int64)
    place[leaves] = np.arange(len(leaves))
    # A value in an object directly follows its name.
    name_of = np.cumsum(tokens.is_name) - 1
    by_level = np.argsort(np.where(is_value, tokens.levels, -1).astype(np.int16), kind="stable")
    by_level = by_level[len(tokens.kinds) - int(is_value.sum()) :]
    levels = tokens.levels[by_level]
    inner, inside = np.empty(0, np.int64), pa.nulls(0, _LARGE)
    for level in range(int(levels.max(initial=0)), -1, -1):
        here = by_level[np.searchsorted(levels, level) : np.searchsorted(levels, level, side="right")]
        kinds = tokens.kinds[here]
        blocks, sources = [primitives], np.empty(len(here), np.int64)
        plain = kinds <= Token.STRING
        sources[plain] = place[here[plain]]
        filled = len(primitives)
        for kind in (Token.OPEN_ARRAY, Token.OPEN_OBJECT):
            chosen = np.flatnonzero(kinds == kind)
            if not len(chosen):
                continue
            mine = np.flatnonzero(tokens.kinds[tokens.parents[inner]] == kind)
            owners = np.searchsorted(here[chosen], tokens.parents[inner[mine]])
            elements = inside.take(integers(mine)) if len(mine) < len(inner) else inside
            if kind == Token.OPEN_ARRAY:
                blocks.append(write_arrays(owners, elements, len(chosen)))
            else:
                names = name_of[inner[mine]]
                listing = np.lexsort((ranks[names], owners))
                repeated = (np.diff(owners[listing]) == 0) & (np.diff(ranks[names][listing]) == 0)
                if repeated.any():
                    raise SchemaMismatchError("an object has two fields of one name")
                blocks.append(write_objects(owners, ids[names], elements, len(chosen), listing))
            sources[chosen] = filled + np.arange(len(chosen))
            filled += len(chosen)
        inside = pc.take(pa.concat_arrays(blocks), integers(sources))
        inner = here
    return inside


def _strings(tokens: Tokens, chosen: Ints) -> pa.Array:
    """The contents of strings, as UTF-8."""
    plain = gather(Spans(tokens.data, tokens.starts[chosen], tokens.ends[chosen]))
    escaped = np.flatnonzero(tokens.is_escaped[chosen])
    if not len(escaped):
        return plain
    data = tokens.data.tobytes()
    bounds = zip(tokens.starts[chosen[escaped]].tolist(), tokens.ends[chosen[escaped]].tolist(), strict=True)
    try:
        read = orjson.loads(b"[" + b",".join(data[start - 1 : end + 1] for start, end in bounds) + b"]")
    except orjson.JSONDecodeError as error:
        raise SchemaMismatchError(f"a text is not JSON: invalid escape: {error}") from error
    sources = np.arange(len(chosen))
    sources[escaped] = len(chosen) + np.arange(len(escaped))
    return pc.take(
        pa.concat_arrays([plain, pa.array(read, pa.large_string()).cast(_LARGE)]), integers(sources)
    )


def _primitives(tokens: Tokens, leaves: Ints) -> pa.Array:
    """The encoded scalars, in order."""
    is_string = tokens.kinds[leaves] == Token.STRING
    strings = np.flatnonzero(is_string)
    others = np.flatnonzero(~is_string)
    blocks, places = [], []
    if len(strings):
        blocks.append(encode_primitives(_strings(tokens, leaves[strings]).cast(pa.string())))
        places.append(strings)
    if len(others):
        texts = gather(Spans(tokens.data, tokens.starts[leaves[others]], tokens.ends[leaves[others]]))
        for chosen, encoded in _scalars(texts.cast(pa.large_string())):
            blocks.append(encoded)
            places.append(others[chosen])
    if not blocks:
        return pa.nulls(0, _LARGE)
    sources = np.empty(len(leaves), np.int64)
    sources[np.concatenate(places)] = np.arange(len(leaves))
    return pc.take(pa.concat_arrays(blocks), integers(sources))


def _scalars(texts: pa.Array) -> list[tuple[Ints, pa.Array]]:
    """Literals and numbers, encoded: their positions and their bytes."""
    found = []
    data, bounds = bounds_of(texts)
    is_letter = (data[bounds[:-1]] >= ord("a")) & (data[bounds[:-1]] <= ord("z"))
    words = np.flatnonzero(is_letter)
    if len(words):
        spelled = texts.take(integers(words)).dictionary_encode()
        if unknown := [word for word in spelled.dictionary.to_pylist() if word.encode() not in _LITERALS]:
            raise SchemaMismatchError(f"a text is not JSON: {unknown[0][:_SHOWN]!r} is no value")
        tags = [encode(_LITERALS[word.encode()], {}) for word in spelled.dictionary.to_pylist()]
        found.append((words, pa.array(tags, _LARGE).take(spelled.indices)))
    numbers = np.flatnonzero(~is_letter)
    if len(numbers):
        found += [(numbers[chosen], encoded) for chosen, encoded in _numbers(texts.take(integers(numbers)))]
    return found


def _numbers(texts: pa.Array) -> list[tuple[Ints, pa.Array]]:
    sizes = np.diff(bounds_of(texts)[1])
    is_number = pc.match_substring_regex(texts, _NUMBER)
    if (sizes > _MAX_NUMBER).any() or not pc.all(is_number).as_py():
        wrong = texts.filter(pc.invert(is_number))
        shown = wrong[0].as_py()[:_SHOWN] if len(wrong) else f"a number of {sizes.max()} digits"
        raise SchemaMismatchError(f"a text is not JSON: {shown!r} is no value")
    dots = pc.find_substring(texts, ".").to_numpy().astype(np.int64)
    has_exponent = _mask(pc.match_substring_regex(texts, "[eE]"))
    is_negative = _mask(pc.starts_with(texts, "-"))
    scales = np.where(dots < 0, 0, sizes - dots - 1)
    digits = sizes - is_negative - (dots >= 0)
    short = ~has_exponent & (digits <= 18)
    found = []
    chosen = np.flatnonzero(short & (dots < 0))
    if len(chosen):
        found.append((chosen, _integers(texts.take(integers(chosen)).cast(pa.int64()).to_numpy())))
    chosen = np.flatnonzero(short & (dots >= 0))
    if len(chosen):
        whole = pc.replace_substring(texts.take(integers(chosen)), ".", "").cast(pa.int64()).to_numpy()
        raw = np.column_stack([whole, whole >> 63]).view(np.uint8).reshape(-1, 16)
        found.append((chosen, _decimals(raw, scales[chosen])))
    long = ~has_exponent & ~short & (digits <= DECIMAL_DIGITS[Primitive.DECIMAL16])
    for scale in distinct(scales[long]).tolist():
        chosen = np.flatnonzero(long & (scales == scale))
        decimals = texts.take(integers(chosen)).cast(pa.decimal128(38, scale))
        raw = np.frombuffer(decimals.buffers()[1], np.uint8)[: 16 * len(chosen)].reshape(-1, 16)
        halves = raw.view(np.int64)
        fits = (scale == 0) & (halves[:, 1] == halves[:, 0] >> 63)
        found.append((chosen[fits], _integers(halves[fits, 0])))
        found.append((chosen[~fits], _decimals(raw[~fits], scales[chosen[~fits]])))
    chosen = np.flatnonzero(has_exponent)
    if len(chosen):
        found.append((chosen, encode_primitives(texts.take(integers(chosen)).cast(pa.float64()))))
    chosen = np.flatnonzero(~has_exponent & ~short & ~long)
    if len(chosen):
        found.append((chosen, pa.array(map(_longest, texts.take(integers(chosen)).to_pylist()), _LARGE)))
    return found


def _longest(text: str) -> bytes:
    """Encode a number of more than 38 digits; leading ones may be zeros."""
    number = Decimal(text)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    most = DECIMAL_DIGITS[Primitive.DECIMAL16]
    return encode(number if len(digits) <= most and -exponent <= most else float(text), {})


def _integers(numbers: Ints) -> pa.Array:
    narrow = [(numbers >= -(1 << bits)) & (numbers < 1 << bits) for bits in (7, 15, 31)]
    width = 3 - np.sum(narrow, axis=0)
    raw = np.empty((len(numbers), 9), np.uint8)
    raw[:, 0] = _INTEGER_TAGS[width]
    raw[:, 1:] = np.ascontiguousarray(numbers, "<i8").view(np.uint8).reshape(-1, 8)
    return _cut(raw, 1 + (1 << width))


def _decimals(unscaled: Bytes, scales: Ints) -> pa.Array:
    """Decimals from unscaled numbers of 16 bytes each."""
    halves = unscaled.view(np.int64)
    low, is_long = halves[:, 0], halves[:, 1] == halves[:, 0] >> 63
    kinds = np.full(len(scales), Primitive.DECIMAL16, np.int64)
    for kind in (Primitive.DECIMAL8, Primitive.DECIMAL4):
        most = DECIMAL_DIGITS[kind]
        kinds[is_long & (low > -(10**most)) & (low < 10**most) & (scales <= most)] = kind
    raw = np.empty((len(scales), 18), np.uint8)
    raw[:, 0] = header(Basic.PRIMITIVE, 0) | kinds << 2
    raw[:, 1] = scales
    raw[:, 2:] = unscaled
    return _cut(raw, 2 + (4 << kinds - Primitive.DECIMAL4))


def _cut(raw: Bytes, sizes: Ints) -> pa.Array:
    """The first bytes of each row of a matrix."""
    return pieces(raw[np.arange(raw.shape[1]) < sizes[:, None]], np.append(0, np.cumsum(sizes)))


def _mask(flags: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    mask: np.ndarray[tuple[int], np.dtype[np.bool_]] = flags.to_numpy(zero_copy_only=False)
    return mask
