"""Random statements about names of a file catalog, some of them killed, beside a model of what names mean."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import deltaarrow
from deltaarrow.errors import DeltaError
from tests.support.examples import examples
from tests.support.system_calls import Calls, Killed

TABLE, VIEW, SCHEMA = "table", "view", "schema"
NAMES = st.sampled_from(["a", "b"])
SCHEMAS = st.sampled_from(["default", "s"])
CALLS = st.none() | st.integers(0, 60)
"""Before which call of the system that changes files a statement is killed."""


class Names(RuleBasedStateMachine):
    """The model says of each name whether it is a table or a view, and which number it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.model: dict[str, tuple[str, int]] = {}
        self.number = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def run(self, text: str, after: dict[str, tuple[str, int]] | None, nth: int | None) -> None:
        """Run a statement, which is refused if `after` is None; if it is killed, it is done or not."""
        try:
            with pytest.MonkeyPatch.context() as patch, deltaarrow.connect(catalog=self.folder) as con:
                if nth is not None:
                    Calls(patch, nth, Killed(), is_last=True)
                con.sql(text, dialect="duckdb" if "VIEW" in text else "spark")
        except DeltaError:
            assert after is None, text
        except Killed:
            found = self.found()
            assert found in (self.model, after), text
            self.model = found
        else:
            assert after is not None, text
            self.model = after

    def found(self) -> dict[str, tuple[str, int]]:
        found = {}
        with deltaarrow.connect(catalog=self.folder) as con:
            for schema in con.catalog.namespaces():
                namespace = con.catalog.namespace(schema)
                if schema != "default":
                    found[schema] = (SCHEMA, 0)
                for kind, names in ((TABLE, namespace.tables()), (VIEW, namespace.views())):
                    for name in names:
                        [(number,)] = con.sql(f"SELECT n FROM {schema}.{name}").fetchall()
                        assert f"{schema}.{name}" not in found
                        found[f"{schema}.{name}"] = (kind, number)
        return found

    @invariant()
    def names_mean_what_the_model_says(self) -> None:
        assert self.found() == self.model

    def made(self, schema: str, name: str, kind: str) -> tuple[str, dict[str, tuple[str, int]] | None]:
        self.number += 1
        full = f"{schema}.{name}"
        is_free = full not in self.model and (schema == "default" or schema in self.model)
        return full, {**self.model, full: (kind, self.number)} if is_free else None

    @rule(schema=SCHEMAS, name=NAMES, nth=CALLS)
    def create_table(self, schema, name, nth):
        full, after = self.made(schema, name, TABLE)
        self.run(f"CREATE TABLE {full} AS SELECT {self.number} AS n", after, nth)

    @rule(schema=SCHEMAS, name=NAMES, nth=CALLS)
    def create_view(self, schema, name, nth):
        if schema == "default" or schema in self.model:
            full, after = self.made(schema, name, VIEW)
            self.run(f"CREATE VIEW {full} AS SELECT {self.number} AS n", after, nth)

    @rule(schema=SCHEMAS, name=NAMES, nth=CALLS)
    def replace_table(self, schema, name, nth):
        full = f"{schema}.{name}"
        _, after = self.made(schema, name, TABLE)
        if self.model.get(full, ("", 0))[0] == TABLE:
            after = {**self.model, full: (TABLE, self.number)}
        self.run(f"CREATE OR REPLACE TABLE {full} AS SELECT {self.number} AS n", after, nth)

    @rule(schema=SCHEMAS, name=NAMES, to_schema=SCHEMAS, to=NAMES, nth=CALLS)
    def rename(self, schema, name, to_schema, to, nth):
        old, new = f"{schema}.{name}", f"{to_schema}.{to}"
        is_possible = self.model.get(old, ("", 0))[0] == TABLE and new not in self.model
        is_possible = is_possible and (to_schema == "default" or to_schema in self.model)
        others = {key: value for key, value in self.model.items() if key != old}
        after = {**others, new: self.model[old]} if is_possible else None
        self.run(f"ALTER TABLE {old} RENAME TO {new}", after, nth)

    @rule(schema=SCHEMAS, name=NAMES, nth=CALLS)
    def drop(self, schema, name, nth):
        full = f"{schema}.{name}"
        kind = self.model.get(full, ("", 0))[0]
        if kind:
            after = {key: value for key, value in self.model.items() if key != full}
            self.run(f"DROP {kind.upper()} {full}", after, nth)

    @rule(nth=CALLS)
    def create_schema(self, nth):
        self.run("CREATE SCHEMA s", None if "s" in self.model else {**self.model, "s": (SCHEMA, 0)}, nth)

    @rule(nth=CALLS)
    def drop_schema(self, nth):
        is_empty = "s" in self.model and not any(key.startswith("s.") for key in self.model)
        after = {key: value for key, value in self.model.items() if key != "s"} if is_empty else None
        self.run("DROP SCHEMA s", after, nth)


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_names_mean_what_a_model_says(count):
    chosen = settings(max_examples=examples(count), stateful_step_count=12, deadline=None)
    run_state_machine_as_test(Names, settings=chosen)
