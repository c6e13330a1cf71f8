"""Files whose structs have other fields than the table, in other orders and under other names.

Fields are matched by id or by name at every level. A field that a file lacks is NULL, however a query
takes the struct apart.
"""

import tempfile
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.engines import register
from tests.support.duckdb_session import duckdb_session
from tests.support.engines import ENGINES, open_snapshot
from tests.support.examples import examples
from tests.support.tables import TableBuilder

Tree = dict[str, Any]
"""The members of a struct: None for an integer, a tree for a struct, a list of one for a list of structs."""

TREE: Tree = {"a": None, "b": {"c": None, "d": {"e": None, "f": None}}, "l": [{"g": None, "h": {"i": None}}]}
NUMBERS = {name: number for number, name in enumerate("sabcdeflghi", 1)}
"""The id of each member; no two of them have one name."""


def delta_type(tree: Any) -> Any:
    if tree is None:
        return "long"
    if isinstance(tree, list):
        return {"type": "array", "elementType": delta_type(tree[0]), "containsNull": True}
    return {"type": "struct", "fields": [delta_field(name, inner) for name, inner in tree.items()]}


def delta_field(name: str, tree: Any) -> dict[str, Any]:
    mapped = {"delta.columnMapping.id": NUMBERS[name], "delta.columnMapping.physicalName": name}
    return {"name": name, "type": delta_type(tree), "nullable": True, "metadata": mapped}


def arrow_field(name: str, tree: Any, names: dict[str, str]) -> pa.Field:
    number = {"PARQUET:field_id": str(NUMBERS.get(name, 99))}
    return pa.field(names[name], arrow_type(tree, names), metadata=number)


def arrow_type(tree: Any, names: dict[str, str]) -> pa.DataType:
    if tree is None:
        return pa.int64()
    if isinstance(tree, list):
        return pa.list_(pa.field("element", arrow_type(tree[0], names)))
    return pa.struct([arrow_field(name, inner, names) for name, inner in tree.items()])


class Draw:
    """A file: the members that are stored, and what they are called there."""

    def __init__(self, draw: Any, by_id: bool) -> None:
        self._draw = draw
        called = draw(st.permutations(sorted(NUMBERS))) if by_id else sorted(NUMBERS)
        self.names = dict(zip(sorted(NUMBERS), called, strict=True)) | {"other": "other"}
        self.stored = self._members(TREE)

    def _chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) < percent

    def _members(self, tree: Any) -> Any:
        if tree is None:
            return None
        if isinstance(tree, list):
            return [self._members(tree[0])]
        kept = [name for name in self._draw(st.permutations(list(tree))) if self._chance(70)]
        return {name: self._members(tree[name]) for name in kept} or {"other": None}

    def value(self, stored: Any, wanted: Any) -> tuple[Any, Any]:
        """A value as the file has it and as the table shows it."""
        if self._chance(20):
            return None, None
        if wanted is None:
            return (number := self._draw(st.integers(0, 3))), number
        if isinstance(wanted, list):
            pairs = [self.value(stored[0], wanted[0]) for _ in range(self._draw(st.integers(0, 2)))]
            return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        found = {name: self.value(inner, wanted.get(name)) for name, inner in stored.items()}
        shown = {name: found[name][1] if name in found else None for name in wanted}
        return {self.names[name]: value for name, (value, _) in found.items()}, shown


@st.composite
def tables(draw: Any) -> tuple[str, list[tuple[pa.Table, list[Any]]]]:
    """How columns are mapped, and files with the values of ``s`` that they hold."""
    mode = draw(st.sampled_from(["none", "name", "id"]))
    files = []
    for _ in range(draw(st.integers(1, 3))):
        file = Draw(draw, by_id=mode == "id")
        pairs = [file.value(file.stored, TREE) for _ in range(3)]
        field = arrow_field("s", file.stored, file.names)
        column = pa.array([pair[0] for pair in pairs], field.type)
        files.append((pa.table([column], schema=pa.schema([field])), [pair[1] for pair in pairs]))
    return mode, files


def write(folder: str, mode: str, files: list[tuple[pa.Table, list[Any]]]) -> None:
    builder = TableBuilder(folder).protocol(2, 5)
    builder.metadata(delta_type({"s": TREE}), (), {"delta.columnMapping.mode": mode})
    # Statistics are under physical names.
    builder.commit([builder.add_file(rows, stats=mode != "id") for rows, _ in files])


def as_texts(values: list[Any]) -> list[str]:
    return sorted(map(repr, values))


@pytest.mark.feature("columnMapping")
@settings(max_examples=examples(4), deadline=None)
@given(table=tables())
def test_every_engine_shows_the_members_that_are_there(table):
    mode, files = table
    wanted = [value for _, shown in files for value in shown]
    with tempfile.TemporaryDirectory() as folder:
        write(folder, mode, files)
        for name, read in ENGINES.items():
            assert as_texts(read(open_snapshot(folder), None, None)["s"].to_pylist()) == as_texts(wanted), (
                name
            )


def member(value: Any, path: str) -> Any:
    for name in path.split(".")[1:]:
        value = None if value is None else value[name]
    return value


@settings(max_examples=examples(4), deadline=None)
@given(table=tables())
def test_duckdb_takes_structs_apart(table):
    mode, files = table
    wanted = [value for _, shown in files for value in shown]
    with tempfile.TemporaryDirectory() as folder, duckdb_session() as con:
        write(folder, mode, files)
        register(con, "t", open_snapshot(folder))
        for path in ("s", "s.a", "s.b", "s.b.c", "s.b.d", "s.b.d.f", "s.l"):
            found = [value for (value,) in con.execute(f"SELECT {path} FROM t").fetchall()]
            expected = [member(value, path) for value in wanted]
            assert as_texts(found) == as_texts(expected), path
            (count,) = con.execute(f"SELECT count(*) FROM t WHERE {path} IS NULL").fetchone()
            assert count == expected.count(None), path
        (count,) = con.execute("SELECT count(*) FROM t WHERE s.b.d.e = 1 OR s.a = 2").fetchone()
        assert count == sum(member(v, "s.b.d.e") == 1 or member(v, "s.a") == 2 for v in wanted)
