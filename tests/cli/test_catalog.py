"""The option ``--catalog`` of the commands that take a table, and of ``sql``."""

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from deltaarrow import write_deltalake
from deltaarrow.catalogs import FileCatalog, TableLocation, UnityCatalog, open_catalog
from deltaarrow.cli.app import app
from deltaarrow.cli.command_list import COMMANDS
from deltaarrow.cli.shared_options import given_catalog
from tests.support.unity_server import TOKEN, unity_server


@pytest.fixture
def unity(tmp_path, monkeypatch):
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", TOKEN)
    with unity_server() as server:
        server.reset(tmp_path)
        write_deltalake("shop.orders", pa.table({"id": [1, 2]}), catalog=UnityCatalog(server.url, "main"))
        yield server
        assert server.violations == []


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def told(*arguments):
    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_commands_take_a_table_by_its_name(unity):
    catalog = f"{unity.url}/main"
    assert told("query", "main.shop.orders", "SELECT id FROM t ORDER BY id", "--catalog", catalog) == [
        {"id": 1},
        {"id": 2},
    ]
    told("properties", "set", "shop.orders", "owner=me", "--catalog", catalog)
    assert told("history", "shop.orders", f"--catalog={catalog}")[0]["operation"] == "SET TBLPROPERTIES"
    told("checkpoint", "shop.orders", "--catalog", catalog)
    assert unity.hosted("shop.orders").published == 1
    assert given_catalog() is None


def test_sql_takes_a_server(unity):
    catalog = f"{unity.url}/main/"
    statement = "INSERT INTO main.shop.orders VALUES (3); SELECT sum(id) AS n FROM shop.orders"
    assert told("sql", "--catalog", catalog, "--dialect", "spark", "-e", statement)[-1] == {"n": 6}


def test_a_table_of_a_catalog_is_dropped_in_sql(unity):
    done = run("drop", "shop.orders", "--yes", "--catalog", f"{unity.url}/main")
    assert done.exit_code == 2
    assert "DROP TABLE shop.orders" in " ".join(done.output.split())
    assert "shop.orders" in unity.tables


BY_NAME = {
    "history": "WRITE",
    "detail": "catalogManaged",
    "schema": "long",
    "files": ".parquet",
    "files --version 0": ".parquet",
    "count": "rows 3",
    "count --version 0": "rows 2",
    "explain": "reads 2 of 2 files",
    "verify": "no error",
    "report --version 0 --output {tmp}/report.html": "",
    "diff --from 0 --to 1": "rows added rows 1",
    "analyze": "numFilesConsidered 2",
    "checkpoint": "version 1",
    "repair": "files that were removed: 0",
    "restore --version 0": "numRemovedFiles 1",
    "clone {tmp}/clone --version 0": "sourceNumOfFiles 1",
}
REFUSED = {
    "changes --from 0": "change data feed",
    "optimize": "a catalog manages the table",
    "vacuum": "a catalog manages the table",
    "cleanup": "a catalog manages the table",
    "generate": "column mapping",
    "drop-feature deletionVectors": "the catalog manages it and requires otherwise",
    "drop --yes": "DROP TABLE shop.orders",
}
WITHOUT_A_TABLE = {"convert", "sql", "pipeline", "demo", "query", "properties"}
"""Commands that take no table or more words before it; the last two and ``sql`` are tested above."""


@pytest.mark.parametrize("words", [*BY_NAME, *REFUSED])
def test_every_command_takes_a_table_of_a_catalog_or_refuses_it_by_name(unity, tmp_path, words):
    write_deltalake(
        "shop.orders", pa.table({"id": [3]}), mode="append", catalog=UnityCatalog(unity.url, "main")
    )
    command, *rest = [word.format(tmp=tmp_path) for word in words.split(" ")]
    done = run(command, "shop.orders", *rest, "--catalog", f"{unity.url}/main")
    assert (done.exit_code == 0) == (words in BY_NAME), done.output
    assert (BY_NAME | REFUSED)[words] in " ".join(done.output.split())
    assert unity.hosted("shop.orders").latest == unity.hosted("shop.orders").published
    assert unity.hosted("shop.orders").latest == (2 if words.startswith("restore") else 1)


def test_every_command_is_tested():
    assert {words.split(" ")[0] for words in (*BY_NAME, *REFUSED)} == COMMANDS.keys() - WITHOUT_A_TABLE


def test_commands_take_a_folder_of_names(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    FileCatalog(tmp_path / "names").namespace("default").add("t", TableLocation(str(tmp_path / "t")))
    assert told("query", "default.t", "SELECT id FROM t", "--catalog", str(tmp_path / "names")) == [{"id": 1}]


@pytest.mark.parametrize("place", ["https://host", "http://host/", "https://host/api/2.1/unity-catalog"])
def test_an_address_needs_the_name_of_a_catalog(place):
    with pytest.raises(ValueError, match="names no catalog"):
        open_catalog(place)
