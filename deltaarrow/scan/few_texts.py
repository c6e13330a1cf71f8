"""Text columns with few distinct values, which are cheaper to copy as dictionary arrays."""

from deltaarrow.scan.damage import sound_footer
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import PrimitiveType

__all__ = ["columns_of_few_texts"]

_MOST_BYTES = 2
"""The bytes of a value, dictionary included; without a dictionary each takes at least four."""


def columns_of_few_texts(layout: TableLayout, task: FileTask) -> frozenset[str]:
    """Return the text columns that one file holds as dictionaries of few values.

    It is a guess about other files. Whether a column is read as dictionary arrays changes time alone, never
    its values. Raises `CorruptDataFileError` for a file that cannot be read.
    """
    texts = {
        layout.physical_name(each): each.name
        for each in layout.data_fields
        if each.type == PrimitiveType("string") and not layout.is_row_tracking(each)
    }
    if not texts:
        return frozenset()
    metadata = sound_footer(layout.store, task.path).metadata()
    if not metadata.num_row_groups:
        return frozenset()
    group = metadata.row_group(0)
    chunks = [group.column(place) for place in range(group.num_columns)]
    return frozenset(
        texts[each.path_in_schema]
        for each in chunks
        if each.path_in_schema in texts and 0 < each.total_uncompressed_size <= _MOST_BYTES * each.num_values
    )
