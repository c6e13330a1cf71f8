"""The files that a DuckDB query reads from its Delta tables, and why others are skipped.

DuckDB says in the profile of a query that was run (``EXPLAIN ANALYZE``, as JSON) which filters it moved to
which scan; the filters are texts there, whose names are not quoted. Of a view over its own reader those on
the table of files, that is on partition values, leave out files; they are evaluated again, one by one, in the
sandbox. Those on the data are left to DuckDB, which opens a file to see which row groups may match. A view
over the Arrow dataset asks for columns and a filter as pyarrow does.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.compute import quote_identifier, sandbox_cursor
from deltaarrow.engines.duckdb.arrow_datasets import DatasetForDuckDB
from deltaarrow.engines.duckdb.view import ShownFiles, shown_views
from deltaarrow.expressions import FALSE
from deltaarrow.scan import Explanation, explain_scan
from deltaarrow.schema import physical_name

__all__ = ["explain_sql"]

_LISTED = 5
"""How many files DuckDB names in a profile."""

_LEFT_TO_DUCKDB = "DuckDB opens the files and skips row groups"
_UNCLEAR = "DuckDB skips files by it, and does not tell which"
_FOR_ROWS = "DuckDB computes it for the rows that it has read"
_Node = Mapping[str, Any]


@dataclass
class _Branch:
    """One ``read_parquet`` in a profile.

    `parts` is the scan of the table of files that it is joined with, if any; `pruning` are the filters on
    that by which DuckDB left out files; `is_empty` whether it found beforehand that they leave none;
    `above` are the filters on rows that it has read.
    """

    scan: _Node
    parts: _Node | None
    pruning: list[str]
    is_empty: bool
    above: Sequence[str] = ()


@dataclass
class _Scan:
    """One use of a view in a query, by the number of the branch."""

    view: ShownFiles
    branches: dict[int, _Branch] = field(default_factory=dict)


def explain_sql(connection: duckdb.DuckDBPyConnection, sql: str) -> list[Explanation]:
    """Run a query and return an explanation for every Delta table in it; see `deltaarrow.explain`."""
    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise ValueError(f"one SELECT is explained, not {sql!r}")
    views = shown_views(connection)
    datasets = {name: view for name, view in views.items() if isinstance(view, DatasetForDuckDB)}
    for dataset in datasets.values():
        dataset.scanned = []
    try:
        rows = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {statements[0].query}").fetchall()
        asked = {name: view.scanned or [] for name, view in datasets.items()}
    finally:
        for dataset in datasets.values():
            dataset.scanned = None
    scans: list[_Scan] = []
    files = [view for view in views.values() if isinstance(view, ShownFiles)]
    operators = json.loads(rows[0][1])["operator"]
    branches = [branch for operator in operators for branch in _branches(operator, None, ())]
    assigned = [_assign(branch, files, scans) for branch in branches]
    seen = {id(scan.view) for scan in scans} | {id(views[name]) for name, found in asked.items() if found}
    named = _tables(sql)
    unread = [view for name, view in views.items() if name in named and id(view) not in seen]
    return [
        *map(_explained, scans),
        *(each for found in asked.values() for each in found),
        *(_unread(view, all(assigned)) for view in unread),
    ]


def _tables(sql: str) -> set[str]:
    """The names that a query uses for tables, CTEs among them."""
    with sandbox_cursor() as cursor:
        ((text,),) = cursor.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
    pending, names = [json.loads(text)], set()
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            names |= {node["table_name"]} if node.get("type") == "BASE_TABLE" else set()
        pending += node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return names


def _unread(view: ShownFiles | DatasetForDuckDB, is_known: bool) -> Explanation:
    """The explanation of a table that DuckDB's optimiser has taken out of the query.

    Where it reads files that are not known to be somebody else's, nothing is said to be skipped.
    """
    if isinstance(view, DatasetForDuckDB):
        return view.explain([], pc.scalar(False))
    if is_known:
        return explain_scan(view.snapshot, FALSE, [])
    return replace(explain_scan(view.snapshot, None, []), notes=("DuckDB does not tell what it read of it",))


# --- profile ---------------------------------------------------------------------------------------


def _branches(node: _Node, parts: _Node | None, above: Sequence[str]) -> Iterator[_Branch]:
    """Yield the scans of data files below an operator.

    `parts` is the scan that theirs is joined with, and `above` are the filters directly above that join.
    DuckDB moves no filter below a join if its computation may fail, or may have other effects.
    """
    if "Filename(s)" in node["extra_info"]:
        yield replace(_branch(node, parts), above=above)
    children = node.get("children", [])
    for child in children:
        others = [other for other in children if other is not child]
        is_joined = node["type"] == "HASH_JOIN" and _is_of_parts(others)
        texts = _texts(node, "Expression") if node["type"] == "FILTER" else above if is_joined else ()
        yield from _branches(child, others[0] if is_joined else parts, texts)


def _is_of_parts(nodes: Sequence[_Node]) -> bool:
    return len(nodes) == 1 and (nodes[0]["type"] == "EMPTY_RESULT" or _scan_of_parts(nodes[0]) is not None)


def _scan_of_parts(node: _Node) -> _Node | None:
    """The scan of a table of files, below filters at most."""
    while node["type"] in ("FILTER", "PROJECTION"):
        (node,) = node["children"]
    return node if "__deltaarrow:" in str(node["extra_info"].get("Table", "")) else None


def _branch(scan: _Node, joined: _Node | None) -> _Branch:
    parts = None if joined is None else _scan_of_parts(joined)
    if joined is None or parts is None:
        return _Branch(scan, parts, [], is_empty=joined is not None)
    if joined["intermediate_rows"] and "file_index" not in str(scan["extra_info"].get("Dynamic Filters")):
        return _Branch(scan, parts, [], is_empty=False)
    filters = _texts(joined, "Filters") + _texts(joined, "Expression")
    while joined.get("children"):
        (joined,) = joined["children"]
        filters += _texts(joined, "Filters") + _texts(joined, "Expression")
    needed = [text for text in filters if not text.startswith("optional:") and _branch_of(text) is None]
    return _Branch(scan, parts, needed, is_empty=False)


def _texts(node: _Node, key: str) -> list[str]:
    """What an operator lists; of filters those that stand in the query, or follow from it."""
    found = node["extra_info"].get(key, [])
    return [text for text in ([found] if isinstance(found, str) else found) if "Dynamic Filter" not in text]


def _branch_of(text: str) -> int | None:
    """The number in a filter that chooses a branch of a table of files; None for any other filter."""
    number = text.removeprefix("(branch = ").removesuffix(")")
    return int(number) if number.isdecimal() and number != text else None


def _assign(branch: _Branch, views: Sequence[ShownFiles], scans: list[_Scan]) -> bool:
    """Put a branch with the others of its scan of a view; False where no view is known to have its files."""
    found = _places(branch, views)
    if not found:
        return False
    # Versions of one table may share files, and branches of one scan follow one another.
    following = [each for each in found if scans and each[0] is scans[-1].view]
    view, number = next((each for each in following if each[1] not in scans[-1].branches), found[0])
    same = [scan for scan in scans if scan.view is view]
    if not same or number in same[-1].branches:
        same = [_Scan(view)]
        scans += same
    same[-1].branches[number] = branch
    return True


def _places(branch: _Branch, views: Sequence[ShownFiles]) -> list[tuple[ShownFiles, int]]:
    """The views that a branch may be of, with its number: by their table of files, else by those listed."""
    if branch.parts is not None:
        table = branch.parts["extra_info"]["Table"]
        view = next((view for view in views if view.helper in table), None)
        if view is None or view.parts is None:
            return []
        # Where all files there are of one branch, DuckDB does not ask for it.
        found = [
            number for text in _texts(branch.parts, "Filters") if (number := _branch_of(text)) is not None
        ]
        return [(view, found[0] if found else view.parts.column("branch")[0].as_py())]
    listed = branch.scan["extra_info"]["Filename(s)"]
    places = []
    for view in views:
        paths, store = view.files.column("path"), view.snapshot.store
        for number, files in enumerate(view.branches):
            first = [store.location(paths[place].as_py()) for place in files[:_LISTED]]
            if listed == ", ".join(first) + (", ..." if len(files) > _LISTED else ""):
                places.append((view, number))
    return places


# --- explanation -----------------------------------------------------------------------------------


def _explained(scan: _Scan) -> Explanation:
    view = scan.view
    skipped: dict[str, set[int]] = {}
    unclear: list[str] = []
    absent = set[int]()
    for number, places in enumerate(view.branches):
        branch = scan.branches.get(number)
        if branch is None or branch.is_empty:
            absent |= {*places}
        for text in [] if branch is None else branch.pruning:
            matching = _matching(view, number, text)
            if matching is None:
                unclear.append(text)
            else:
                skipped.setdefault(text, set()).update({*places} - matching)
    explanation = explain_scan(view.snapshot, columns=_columns(scan))
    gone = set[int]()
    for text, without in skipped.items():
        gone |= without
        explanation = explanation.then(
            _shown(text, view), "partition values", _taken(view, without), _left(view, gone)
        )
    if absent - gone:
        words = "conditions that no row of some files meets"
        explanation = explanation.then(
            words, "partition values", _taken(view, absent), _left(view, gone | absent)
        )
    for text in dict.fromkeys(unclear):
        explanation = explanation.idle(_shown(text, view), _UNCLEAR)
    for text in dict.fromkeys(t for branch in scan.branches.values() for t in _texts(branch.scan, "Filters")):
        explanation = explanation.idle(_shown(text, view), _LEFT_TO_DUCKDB)
    for text in dict.fromkeys(text for branch in scan.branches.values() for text in branch.above):
        explanation = explanation.idle(_shown(text, view), _FOR_ROWS)
    opened, scanned, total = (
        sum(int(number) for number in numbers)
        for numbers in (
            [branch.scan["extra_info"].get("Total Files Read", 0) for branch in scan.branches.values()],
            [branch.scan.get("row_groups_scanned", 0) for branch in scan.branches.values()],
            [branch.scan.get("total_row_groups_to_scan", 0) for branch in scan.branches.values()],
        )
    )
    note = f"DuckDB opened {opened} files and scanned {scanned} of {total} row groups in them"
    return replace(explanation, notes=(note,))


def _matching(view: ShownFiles, branch: int, text: str) -> set[int] | None:
    """The places of the files of a branch that a filter on the table of files leaves; None if unknown.

    The text is DuckDB's; wherever the values in it come from, the sandbox reaches nothing else.
    """
    assert view.parts is not None
    values = {name: view.parts.column(name) for name in view.part_names.values()}
    # Above the scan DuckDB calls them by the names of the table.
    values |= {name: values[own] for name, own in view.part_names.items() if name not in values}
    mask = pc.equal(view.parts.column("branch"), branch)
    with sandbox_cursor() as cursor:
        cursor.register("parts", pa.table(values).filter(mask))
        try:
            found = cursor.sql(f"SELECT ({text})::BOOLEAN AS verdict FROM parts").to_arrow_table()
        except duckdb.Error:
            return None  # a function of the caller's
    verdicts = found.column("verdict")
    places = view.parts.column("file").filter(mask).filter(pc.fill_null(verdicts, fill_value=False))
    return set(places.to_pylist())


def _taken(view: ShownFiles, places: set[int]) -> pa.Table:
    mask = np.zeros(view.files.num_rows, np.bool_)
    mask[list(places)] = True
    return view.files.filter(pa.array(mask))


def _left(view: ShownFiles, gone: set[int]) -> pa.Table:
    return _taken(view, {*range(view.files.num_rows)} - gone)


def _logical_names(view: ShownFiles) -> dict[str, str]:
    """The names of the table by the names that DuckDB knows them under."""
    snapshot = view.snapshot
    names = {physical_name(f, snapshot.mapping_mode): f.name for f in snapshot.schema.fields}
    return names | {name: column for column, name in view.part_names.items()}


def _columns(scan: _Scan) -> list[str]:
    """The columns that DuckDB reads, those of filters included, in the order of the table."""
    names = _logical_names(scan.view)
    used = set()
    for branch in scan.branches.values():
        texts = _texts(branch.scan, "Projections") + _texts(branch.scan, "Filters") + branch.pruning
        used |= {names[name] for text in texts for _, _, name in _names_in(text, names)}
        used |= {names[each] for each in _texts(branch.scan, "Projections") if each in names}
    return [name for name in scan.view.snapshot.schema.names if name in used]


def _shown(text: str, view: ShownFiles) -> str:
    """A filter of DuckDB's with the names of the table."""
    names = _logical_names(view)
    text = text.removeprefix("optional: ")
    if text.startswith("(") and text.endswith(")") and not {"(", ")"} & {*text[1:-1]}:
        text = text[1:-1]
    for start, end, name in reversed([*_names_in(text, names)]):
        text = text[:start] + names[name] + text[end:]
    return text


def _names_in(text: str, names: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Yield where in an expression of DuckDB's there are some names.

    A name that is not quoted may be several tokens, as the physical names of mapped columns are.
    """
    data = text.encode()
    tokens = duckdb.tokenize(text)
    starts = [start for start, _ in tokens]
    ends = {len(data[:end].rstrip()) for end in [*starts[1:], len(data)]}
    known = {each: each.encode() for each in sorted(names, key=len, reverse=True)}
    place = 0
    for start, kind in tokens:
        if start < place or kind not in (duckdb.token_type.identifier, duckdb.token_type.keyword):
            continue
        for name, spelled in known.items():
            quoted = quote_identifier(name).encode()
            end = start + next((len(e) for e in (quoted, spelled) if data.startswith(e, start)), 0)
            if end in ends and end > start:
                place = end
                yield len(data[:start].decode()), len(data[:end].decode()), name
                break
