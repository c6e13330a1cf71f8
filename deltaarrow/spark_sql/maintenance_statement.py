"""OPTIMIZE, REORG and VACUUM in Spark SQL taken apart: the table, and each clause as it is written."""

from dataclasses import dataclass

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql.statement_text import Words

__all__ = ["OptimizeText", "ReorgText", "VacuumText", "parse_optimize", "parse_reorg", "parse_vacuum"]


@dataclass(frozen=True)
class OptimizeText:
    """The parts of an OPTIMIZE; `z_order` are the columns of its ZORDER BY, each as it is written."""

    path: str
    is_full: bool
    condition: str | None
    z_order: tuple[str, ...]


@dataclass(frozen=True)
class ReorgText:
    """The parts of a REORG TABLE; `iceberg_compat_version` is None if it applies PURGE."""

    path: str
    condition: str | None
    iceberg_compat_version: int | None = None


@dataclass(frozen=True)
class VacuumText:
    """The parts of a VACUUM; `retain_hours` is None where the table says how long files stay."""

    path: str
    is_lite: bool
    retain_hours: float | None
    is_dry_run: bool


def parse_optimize(statement: str) -> OptimizeText:
    """Take an OPTIMIZE apart.

    Raises `UnsupportedFeatureError` for what has no place in an OPTIMIZE, and for a table that is not named
    by its path.

    >>> parse_optimize("OPTIMIZE delta.`/t` WHERE day = '2026-01-01' ZORDER BY (id, s.x)")
    OptimizeText(path='/t', is_full=False, condition="day = '2026-01-01'", z_order=('id', 's.x'))
    """
    words = Words(statement)
    words.expect("OPTIMIZE")
    path = words.place()
    if words.take("FULL"):
        _ensure_done(words, "FULL is for clustered tables, which take neither WHERE nor ZORDER BY; the end")
        return OptimizeText(path, is_full=True, condition=None, z_order=())
    condition = _condition(words, "ZORDER BY")
    columns = tuple(_z_order(words)) if words.take("ZORDER", "BY") else ()
    _ensure_done(words, "ZORDER BY or the end" if not columns else "the end")
    return OptimizeText(path, is_full=False, condition=condition, z_order=columns)


def parse_reorg(statement: str) -> ReorgText:
    """Take a REORG TABLE apart.

    Raises `UnsupportedFeatureError` for what has no place in a REORG TABLE, and for a table that is not named
    by its path.

    >>> parse_reorg("REORG TABLE delta.`/t` WHERE day > '2026-01-01' APPLY (PURGE)")
    ReorgText(path='/t', condition="day > '2026-01-01'", iceberg_compat_version=None)
    >>> text = "REORG TABLE delta.`/t` APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))"
    >>> parse_reorg(text).iceberg_compat_version
    2
    """
    words = Words(statement)
    words.expect("REORG")
    words.expect("TABLE")
    path = words.place()
    condition = _condition(words, "APPLY (")
    words.expect("APPLY")
    words.expect("(")
    # As in Spark, an upgrade is of the whole table.
    version = _upgrade(words) if condition is None and words.take("UPGRADE", "UNIFORM") else None
    if version is None:
        words.expect("PURGE")
    words.expect(")")
    _ensure_done(words, "the end")
    return ReorgText(path, condition, version)


def _upgrade(words: Words) -> int:
    words.expect("(")
    words.expect("ICEBERG_COMPAT_VERSION")
    if not words.take("=="):
        words.expect("=")
    version = words.whole_number("ICEBERG_COMPAT_VERSION")
    words.expect(")")
    return version


def parse_vacuum(statement: str) -> VacuumText:
    """Take a VACUUM apart, whose clauses come in any order.

    Raises `UnsupportedFeatureError` for what has no place in a VACUUM, and for what is not read here: a table
    that is not named by its path, and an inventory.

    >>> parse_vacuum("VACUUM delta.`/t` RETAIN 200 HOURS LITE DRY RUN")
    VacuumText(path='/t', is_lite=True, retain_hours=200.0, is_dry_run=True)
    """
    words = Words(statement)
    words.expect("VACUUM")
    path = words.place()
    is_lite, hours, is_dry_run = None, None, False
    while not words.is_done:
        if is_lite is None and words.take("FULL"):
            is_lite = False
        elif is_lite is None and words.take("LITE"):
            is_lite = True
        elif hours is None and words.take("RETAIN"):
            hours = words.number("a number of hours, 0 or more,")
            words.expect("HOURS")
        elif not is_dry_run and words.take("DRY", "RUN"):
            is_dry_run = True
        elif words.is_at("USING"):
            raise UnsupportedFeatureError(
                "VACUUM with USING INVENTORY is not supported here: give an Arrow table to"
                " DeltaTable.vacuum(inventory=...), or leave the clause out",
                feature="USING INVENTORY",
            )
        else:
            raise words.refused("FULL, LITE, RETAIN n HOURS or DRY RUN, each once, is expected")
    return VacuumText(path, bool(is_lite), hours, is_dry_run)


def _condition(words: Words, end: str) -> str | None:
    if not words.take("WHERE"):
        return None
    text = words.until(end)
    if not text:
        raise words.refused("a condition is expected")
    return text


def _z_order(words: Words) -> list[str]:
    is_bracketed = words.take("(")
    columns = [words.column()]
    while words.take(","):
        columns.append(words.column())
    if is_bracketed:
        words.expect(")")
    return columns


def _ensure_done(words: Words, what: str) -> None:
    if not words.is_done:
        raise words.refused(f"{what} is expected")
