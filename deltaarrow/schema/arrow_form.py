"""The Arrow form of Delta types: conversions that are imported when a type is converted."""

from typing import TYPE_CHECKING, Self

from deltaarrow.runtime.lazy import lazy_attributes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowForm", "of_arrow"]

# The conversion needs the types, and pyarrow.
of_arrow = lazy_attributes(
    __name__,
    dict.fromkeys(
        ("from_arrow_field", "from_exported_type", "to_arrow_field", "to_arrow_type"),
        "deltaarrow.schema.arrow_types",
    ),
)
"""Returns a function of `deltaarrow.schema.arrow_types`."""


class ArrowForm:
    """What converts a Delta type from and to Arrow."""

    def to_arrow(self) -> "pa.DataType":
        """Return the Arrow type for reading and writing values of this type."""
        return of_arrow("to_arrow_type")(self)

    @classmethod
    def from_arrow(cls, type: "pa.DataType") -> Self:
        """Return the type that holds the values of an Arrow type.

        Args:
            type: a `pyarrow.DataType`, or an object with ``__arrow_c_schema__``.

        Raises:
            TypeError: the values belong to another class of types.
            UnsupportedFeatureError: Delta has no such type.

        >>> import pyarrow as pa
        >>> from deltaarrow.schema import ArrayType
        >>> ArrayType.from_arrow(pa.list_(pa.int8()))
        ArrayType(PrimitiveType("byte"), contains_null=True)
        """
        found = of_arrow("from_exported_type")(type)
        if not isinstance(found, cls):
            raise TypeError(
                f"{found!r} is not a {cls.__name__}; use from_arrow of {found.__class__.__name__}"
            )
        return found

    def __arrow_c_schema__(self) -> object:
        """Export the Arrow form, for libraries that take Arrow objects of any package."""
        return self.to_arrow().__arrow_c_schema__()
