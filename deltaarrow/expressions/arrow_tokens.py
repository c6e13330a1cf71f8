"""Tokens of a `pyarrow.compute.Expression`, whose structure pyarrow does not expose.

An expression pickles as an Arrow IPC file. The metadata of its schema is the expression as an ordered list of
tokens, and the columns of its single row are the values that tokens refer to by number::

    a > 1 and b is in (2, 3)        call             and_kleene
                                    call             greater
                                    field_ref        a
                                    literal          0
                                    end              greater
                                    call             is_in
                                    field_ref        b
                                    options          1
                                    end              is_in
                                    end              and_kleene

Keys repeat, and `pyarrow.Schema.metadata` is a dictionary that keeps only the last of each. So the list is
read from the Arrow C data interface, whose layout is stable.
"""

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.errors import InvalidPredicateError

if TYPE_CHECKING:
    import pyarrow.compute as pc

__all__ = ["Token", "columns_of_arrow", "read_tokens"]

Token = tuple[str, Any]
"""``call`` or ``end`` with a function name, ``field`` with a path of names, ``literal`` or ``options``
with an Arrow scalar."""


def read_tokens(expression: "pc.Expression") -> list[Token]:
    """The tokens of an expression; a nested field is one ``field`` token with its path.

    Raises:
        InvalidPredicateError: the expression names a column by its position, or calls a function that
            cannot be pickled.
    """
    try:
        data = expression.__reduce__()[1][0]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InvalidPredicateError(f"cannot read the filter {expression}: {error}") from error
    with pa.ipc.open_file(data) as reader:
        values = reader.get_batch(0)
    pairs = iter(_schema_metadata(values.schema))
    return [_token(key, value, pairs, values) for key, value in pairs]


def columns_of_arrow(expression: "pc.Expression") -> list[tuple[str, ...]]:
    """The paths of the columns that an expression of any type reads, in order.

    Raises the errors of `read_tokens`.

    >>> import pyarrow.compute as pc
    >>> columns_of_arrow(pc.field("s", "b").cast("int64") + pc.field("a"))
    [('s', 'b'), ('a',)]
    """
    return [value for kind, value in read_tokens(expression) if kind == "field"]


def _token(key: str, value: str, pairs: Iterator[tuple[str, str]], values: pa.RecordBatch) -> Token:
    match key:
        case "call" | "end":
            return key, value
        case "field_ref":
            return "field", (value,)
        case "nested_field_ref":
            return "field", tuple(next(pairs)[1] for _ in range(int(value)))
        case "literal" | "options":
            return key, values.column(int(value))[0]
    raise InvalidPredicateError(f"the filter has {key!r}, an element of pyarrow that is not supported here")


class _ArrowSchema(ctypes.Structure):
    """The head of ``struct ArrowSchema``."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


def _schema_metadata(schema: pa.Schema) -> Iterator[tuple[str, str]]:
    """All key-value pairs of a schema's metadata in order, including repeated keys."""
    capsule = schema.__arrow_c_schema__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address = _ArrowSchema.from_address(get_pointer(capsule, b"arrow_schema")).metadata

    def read_number() -> int:
        nonlocal address
        number = ctypes.c_int32.from_address(address).value
        address += ctypes.sizeof(ctypes.c_int32)
        return number

    def read_text() -> str:
        nonlocal address
        length = read_number()
        text = ctypes.string_at(address, length)
        address += length
        return text.decode()

    # An expression has at least one token, so there is metadata. The capsule owns the memory.
    for _ in range(read_number()):
        yield read_text(), read_text()
    del capsule
