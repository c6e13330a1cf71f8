"""Generator functions, which return several rows for one, in ``LATERAL VIEW`` and in a select list.

`find_generator` returns the record of a name, None for other names. A record is called with the name as it
was written and the bound operands, and returns a `Generated`:

    generated = find_generator("explode")("explode", (operand,))

`Generated.rows` is a node of type array of struct, with one element for each row to make, and is rendered
like any other node; NULL means no rows. `Generated.schema` has the names that Spark gives to columns without
an alias, and their types. With `Generated.is_outer` (or ``LATERAL VIEW OUTER``), no rows mean a row of NULLs.
"""

from collections.abc import Callable
from dataclasses import dataclass

from deltaarrow.schema import ArrayType, Field, MapType, StructType
from deltaarrow.spark_sql.functions.argument_counts import Arity, ensure_count
from deltaarrow.spark_sql.functions.function import literal_integer, literal_text, same_type
from deltaarrow.spark_sql.functions.json import json_member
from deltaarrow.spark_sql.functions.variant import variant_parts
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.types.nested import array_of, struct_of
from deltaarrow.spark_sql.types.type_rules import INTEGER, STRING, VOID, sql_type, type_name

__all__ = ["GENERATORS", "Generated", "Generator", "find_generator"]


@dataclass(frozen=True, slots=True)
class Generated:
    """The rows that a generator makes out of one."""

    rows: Node
    schema: StructType
    is_outer: bool


@dataclass(frozen=True, slots=True)
class Generator:
    """A generator; each name may have ``_outer`` behind it.

    Args:
        names: in lower case; the first is the usual one.
        arguments: as documentation writes them.
        arity: least and greatest number of arguments; None for no limit.
        bind: returns the node of the rows of a call with these operands.
        note: restrictions compared to Spark, if any.
        is_relation: whether it stands in FROM alone.
    """

    names: tuple[str, ...]
    arguments: str
    arity: Arity
    bind: Callable[..., Node]
    note: str = ""
    is_relation: bool = False

    def __call__(self, name: str, operands: tuple[Node, ...]) -> Generated:
        """Return the rows of a call by that name."""
        ensure_count(name, len(operands), self.arity)
        rows = self.bind(*operands)
        assert isinstance(rows.type, ArrayType) and isinstance(rows.type.element_type, StructType)
        return Generated(rows, rows.type.element_type, name.lower().endswith(_OUTER))


_OUTER = "_outer"


def _explode(operand: Node) -> Node:
    return _elements(operand, "explode", ())


def _posexplode(operand: Node) -> Node:
    return _elements(operand, "posexplode", (Field("pos", INTEGER),))


def _elements(operand: Node, name: str, before: tuple[Field, ...]) -> Node:
    place = "pos := CAST(place - 1 AS INTEGER), " if before else ""
    if isinstance(operand.type, MapType):
        fields = (*before, Field("key", operand.type.key_type), Field("value", operand.type.value_type))
        made = f"struct_pack({place}key := item.key, value := item.value)"
        source = "map_entries({0})"
    elif isinstance(operand.type, ArrayType):
        fields = (*before, Field("col", operand.type.element_type))
        made = f"struct_pack({place}col := item)"
        source = "{0}"
    else:
        raise refused(f"{name} of {type_name(operand.type)}")
    data_type = ArrayType(StructType(list(fields)))
    sql = f"list_transform({source}, lambda item, place: {made})"
    return call(name, (operand,), data_type, f"CAST({sql} AS {escaped(sql_type(data_type))})")


def _json_tuple(text: Node, *names: Node) -> Node:
    fields = StructType([Field(f"c{place}", STRING) for place, _ in enumerate(names)])
    parts = [json_member(text, literal_text(each, "a name in json_tuple")) for each in names]
    return array_of([struct_of(parts, fields)], fields)


def _inline(operand: Node) -> Node:
    if not isinstance(operand.type, ArrayType) or not isinstance(operand.type.element_type, StructType):
        raise refused(f"inline of {type_name(operand.type)}")
    return operand


def _stack(count: Node, *values: Node) -> Node:
    rows = literal_integer(count, "the number of rows of stack")
    if not 0 < rows <= len(values):
        raise refused(f"stack of {rows} rows made of {len(values)} values")
    width = -(-len(values) // rows)
    columns = [same_type(_filled(values[place::width], rows)) for place in range(width)]
    fields = StructType([Field(f"col{place}", column[1]) for place, column in enumerate(columns)])
    made = [struct_of([column[0][row] for column in columns], fields) for row in range(rows)]
    return array_of(made, fields)


def _filled(values: tuple[Node, ...], rows: int) -> tuple[Node, ...]:
    missing: tuple[Node, ...] = tuple(Constant(None, VOID) for _ in range(rows - len(values)))
    return (*values, *missing)


GENERATORS = (
    Generator(("explode",), "array or map", (1, 1), _explode),
    Generator(("posexplode",), "array or map", (1, 1), _posexplode),
    Generator(("inline",), "array of structs", (1, 1), _inline),
    Generator(("variant_explode",), "variant", (1, 1), variant_parts, "only in FROM", is_relation=True),
    Generator(("json_tuple",), "string, name, ...", (2, None), _json_tuple, "names must be literals"),
    Generator(("stack",), "rows, value, ...", (2, None), _stack, "rows must be a literal"),
)
"""All generators."""

_BY_NAME = {
    spelled: each
    for each in GENERATORS
    for name in each.names
    for spelled in ((name,) if name in ("stack", "json_tuple") else (name, name + _OUTER))
}


def find_generator(name: str) -> Generator | None:
    """The generator of that name, in any case; None if there is none."""
    return _BY_NAME.get(name.lower())
