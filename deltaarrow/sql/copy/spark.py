"""COPY INTO, as Databricks documents it."""

from deltaarrow.features.property import parse_boolean
from deltaarrow.spark_sql import Words
from deltaarrow.sql.clauses import parse_names, parse_properties
from deltaarrow.sql.rows.statements import COPIED_FILES, CopyInto

__all__ = ["parse_copy_into"]

_FORMATS = ("csv", "json", "parquet")
_AFTER_VALIDATE = ("FILES", "PATTERN", "FORMAT_OPTIONS", "COPY_OPTIONS", ";")


def parse_copy_into(words: Words) -> CopyInto:
    """Read a COPY INTO.

    >>> copy = parse_copy_into(
    ...     Words(
    ...         "COPY INTO t FROM (SELECT _c0::INT AS id FROM '/in') FILEFORMAT = CSV PATTERN = '*.csv'"
    ...         " FORMAT_OPTIONS ('sep' = ';') COPY_OPTIONS ('force' = 'true')"
    ...     )
    ... )
    >>> copy.source, copy.query, copy.pattern
    ('/in', 'SELECT _c0::INT AS id FROM __deltaarrow_copied_files', '*.csv')
    >>> copy.format_options, copy.is_forced
    ({'sep': ';'}, True)
    """
    words.expect("COPY")
    words.expect("INTO")
    table = words.table_name()
    is_by_position = words.take("BY", "POSITION")
    columns = parse_names(words) if not is_by_position and words.is_at("(") else None
    words.expect("FROM")
    source, query = _source(words)
    words.expect("FILEFORMAT")
    words.expect("=")
    source_format = _format(words)
    validates, most_checked = _validation(words)
    files, pattern = _chosen(words)
    format_options = _options(words, "FORMAT_OPTIONS")
    is_forced, evolves = _copy_options(words)
    words.expect_end()
    return CopyInto(
        table,
        source,
        source_format,
        query,
        columns,
        not is_by_position and columns is None,
        files,
        pattern,
        format_options,
        is_forced,
        evolves,
        validates,
        most_checked,
    )


def _source(words: Words) -> tuple[str, str | None]:
    """The folder, and the query over its files if there is one."""
    if not words.take("("):
        return _folder(words), None
    words.expect("SELECT")
    selected = words.expression("FROM")
    words.expect("FROM")
    source = _folder(words)
    rest = words.until(")")
    words.expect(")")
    return source, f"SELECT {selected} FROM {COPIED_FILES} {rest}".rstrip()


def _folder(words: Words) -> str:
    path = words.string("the folder of the files")
    if not path:
        raise words.refused("the folder of the files stands before it and is empty; a path")
    if words.is_at("WITH"):
        raise words.refused(
            "credentials in a statement are not supported, but storage_options of deltaarrow.connect are:"
            " FILEFORMAT is expected"
        )
    return path


def _format(words: Words) -> str:
    start = words.here()
    name = words.string("a format") if words.is_at_string else words.identifier("a format")
    if name.lower() not in _FORMATS:
        words.back_to(start)
        raise words.refused(f"one of the formats {', '.join(_FORMATS).upper()} is expected")
    return name.lower()


def _validation(words: Words) -> tuple[bool, int | None]:
    """Whether rows are only checked, and how many."""
    if not words.take("VALIDATE"):
        return False, None
    if words.take("ALL") or words.is_done or any(words.is_at(each) for each in _AFTER_VALIDATE):
        return True, None
    number = words.whole_number("the number of rows")
    words.expect("ROWS")
    return True, number


def _chosen(words: Words) -> tuple[tuple[str, ...] | None, str | None]:
    """The names of the files, or the pattern of their names."""
    if words.take("PATTERN"):
        words.expect("=")
        return None, words.string("a pattern")
    if not words.take("FILES"):
        return None, None
    words.expect("=")
    words.expect("(")
    files = [words.string("the name of a file")]
    while words.take(","):
        files.append(words.string("the name of a file"))
    words.expect(")")
    if words.is_at("PATTERN"):
        raise words.refused("FILES and PATTERN exclude each other: FORMAT_OPTIONS or the end is expected")
    return tuple(files), None


def _options(words: Words, clause: str) -> dict[str, str]:
    if not words.take(clause):
        return {}
    return {name.lower(): text for name, text in parse_properties(words).items()}


def _copy_options(words: Words) -> tuple[bool, bool]:
    """Whether all files are copied, and whether columns are added."""
    options = _options(words, "COPY_OPTIONS")
    found = [_is_true(words, name, options.pop(name, "false")) for name in ("force", "mergeschema")]
    if options:
        raise words.unsupported(
            f"{next(iter(options))} is no option of COPY_OPTIONS, which has force and mergeSchema"
        )
    return found[0], found[1]


def _is_true(words: Words, name: str, text: str) -> bool:
    try:
        return parse_boolean(text)
    except ValueError:
        raise words.unsupported(f"the option {name} is true or false, not {text!r}") from None
