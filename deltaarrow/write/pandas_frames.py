"""pandas frames as Arrow tables: their columns, and an index that has a name.

============================================== =====================================
the index, or a level of it                    becomes
============================================== =====================================
has a name                                     a column of that name, after the others
has no name, and is a range or has integers    nothing: it numbers the rows
has no name, and has other values              an error
============================================== =====================================
"""

from typing import Any

import pyarrow as pa

from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.write.python_values import FAILURES, ensure_one_kind, refusal

__all__ = ["pandas_table"]

_NO_ARROW_FORM = {
    "Sparse": "make it dense with .sparse.to_dense()",
    "period": "cast it with .dt.to_timestamp() or .astype(str)",
    "interval": "write its bounds as two columns, .array.left and .array.right, or cast it with .astype(str)",
    "complex": "write .values.real and .values.imag as two columns",
    "float128": "cast it with .astype('float64')",
}
"""What to do with dtypes whose values Arrow and Delta lack, by the beginning of the dtype's name."""


def pandas_table(frame: Any, *, cuts_times: bool) -> pa.Table:
    """Return a pandas DataFrame as an Arrow table.

    Args:
        frame: the frame; names of columns that are no strings become strings, as in `pyarrow`.
        cuts_times: whether timestamps may lose their digits below microseconds.

    Raises:
        SchemaMismatchError: an index without a name has values, or a name stands twice; the values of a
            column have no common type, or would change.
        UnsupportedFeatureError: Delta has no type for a dtype of pandas.
    """
    table = _columns(frame, cuts_times)
    for name, level in _named_levels(frame.index):
        if name in table.column_names:
            raise SchemaMismatchError(
                f"column {name!r} is both a column and an index of the frame; give"
                " frame.reset_index(drop=True) without the index, or rename one of them"
            )
        index = _columns(level.to_frame(index=False, name=name), cuts_times)
        table = table.append_column(name, index.column(0))
    return table


def _named_levels(index: Any) -> list[tuple[str, Any]]:
    """The levels of an index that become columns."""
    levels = [index.get_level_values(each) for each in range(index.nlevels)]
    for level in levels:
        if level.name is None and len(level) and getattr(level.dtype, "kind", "O") not in "iu":
            raise SchemaMismatchError(
                f"the index of the frame has values of type {level.dtype} and no name, so that they would be"
                " lost; give frame.rename_axis('name') to write them as a column, or"
                " frame.reset_index(drop=True) to leave them out"
            )
    return [(str(level.name), level) for level in levels if level.name is not None]


def _columns(frame: Any, cuts_times: bool) -> pa.Table:
    for place, dtype in enumerate(frame.dtypes):
        name = str(frame.columns[place])
        _ensure_arrow_form(name, dtype)
        if dtype == "object" or str(dtype) == "category":
            values = frame.iloc[:, place] if dtype == "object" else frame.iloc[:, place].cat.categories
            ensure_one_kind(name, values.tolist(), cuts_times=cuts_times)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    except FAILURES as error:
        raise _refusal(frame, error) from error


def _ensure_arrow_form(name: str, dtype: Any) -> None:
    kind = str(getattr(getattr(dtype, "categories", None), "dtype", dtype))
    for beginning, remedy in _NO_ARROW_FORM.items():
        if kind.startswith(beginning):
            raise UnsupportedFeatureError(
                f"column {name!r}: Delta has no type for pandas' {dtype}; {remedy}", feature=str(dtype)
            )


def _refusal(frame: Any, error: Exception) -> Exception:
    """The error for the first column that Arrow refuses."""
    for place, dtype in enumerate(frame.dtypes):
        try:
            pa.Array.from_pandas(frame.iloc[:, place])
        except FAILURES as reason:
            return refusal(str(frame.columns[place]), f"pandas' type {dtype}", reason)
    return SchemaMismatchError(f"the frame has no Arrow form: {error}")
