"""`StatisticsTexts`: the text of ``add.stats`` for many files with the same columns.

Keys take longest to render, and files with the same known values have the same keys. Such files share one
form, into which their values are filled.
"""

from collections.abc import Sequence

from deltaarrow.statistics.render import nest, render_statistics

__all__ = ["StatisticsTexts"]

_PLACE = "\0"


class StatisticsTexts:
    """Renders statistics as `render_statistics` does.

    Args:
        paths: the physical path of each column.
        bounded: for each column, whether it may have bounds; others are left out of their objects.
        tight_bounds: the value of ``tightBounds``, which is left out if None.

    >>> texts = StatisticsTexts([("a",), ("b", "c")], [True, False])
    >>> texts.render(3, ["1", None], ["2", None], ["0", "1"])
    '{"numRecords":3,"minValues":{"a":1},"maxValues":{"a":2},"nullCount":{"a":0,"b":{"c":1}}}'
    """

    def __init__(
        self, paths: Sequence[Sequence[str]], bounded: Sequence[bool], *, tight_bounds: bool | None = None
    ) -> None:
        self._paths = paths
        self._bounded = bounded
        self._tight_bounds = tight_bounds
        self._forms: dict[tuple[bool, ...], str] = {}

    def render(
        self,
        num_records: int,
        lows: Sequence[str | None],
        highs: Sequence[str | None],
        nulls: Sequence[str | None],
    ) -> str:
        """Return the text of ``add.stats``.

        Args:
            num_records: the rows of the file.
            lows: the lower bound of each column as JSON text, None if it is unknown.
            highs: the upper bounds, likewise.
            nulls: the numbers of NULLs, likewise.
        """
        values = [*lows, *highs, *nulls]
        known = tuple(each is not None for each in values)
        form = self._forms.get(known)
        if form is None:
            form = self._forms[known] = self._form(known)
        return form % (num_records, *(each for each in values if each is not None))

    def _form(self, known: Sequence[bool]) -> str:
        """Return the text in which each known value is to be filled in, by Python's ``%``."""
        count = len(self._paths)
        places = [_PLACE if each else None for each in known]
        lows, highs = (
            nest(
                (path, place)
                for path, place, bounded in zip(self._paths, part, self._bounded, strict=True)
                if bounded
            )
            for part in (places[:count], places[count : 2 * count])
        )
        nulls = nest(zip(self._paths, places[2 * count :], strict=True))
        text = render_statistics(0, lows, highs, nulls, tight_bounds=self._tight_bounds)
        text = text.replace("%", "%%").replace(_PLACE, "%s")
        return text.replace('"numRecords":0', '"numRecords":%s', 1)
