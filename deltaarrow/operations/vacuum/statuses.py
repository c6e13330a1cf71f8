"""Sizes and times of candidates, where a listing does not tell them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import booleans, truths
from deltaarrow.operations.vacuum.candidates import Decision, whole
from deltaarrow.storage import Store

__all__ = ["with_statuses"]


def with_statuses(
    store: Store, decision: Decision, where: np.ndarray | None = None
) -> tuple[Decision, dict[str, object]]:
    """Ask for sizes and times of files of which nothing is known yet; those that are gone are left out.

    Returns the identities of those that were asked for, by name, as well.
    """
    unknown = truths(whole(pc.is_null(decision.files.column("modified_ms"))))
    asked = unknown if where is None else unknown & where
    if not store.is_local or not asked.any():
        return decision, {}
    names = decision.files.column("path").filter(booleans(asked)).to_pylist()
    found = store.statuses(names)
    columns = [whole(decision.files.column(name)) for name in ("size", "modified_ms")]
    sizes, times = (
        [None if status is None else getattr(status, attribute) for status in found]
        for attribute in ("size", "modified_ms")
    )
    mask = booleans(asked)
    filled = [
        pc.replace_with_mask(column, mask, build_array(values, pa.int64()))
        for column, values in zip(columns, (sizes, times), strict=True)
    ]
    files = pa.Table.from_arrays([decision.files.column("path"), *filled], schema=decision.files.schema)
    is_there = np.ones(len(asked), bool)
    is_there[np.flatnonzero(asked)[[status is None for status in found]]] = False
    identities = {n: s.identity for n, s in zip(names, found, strict=True) if s is not None}
    return Decision(files, decision.codes).rows_of(is_there), identities
