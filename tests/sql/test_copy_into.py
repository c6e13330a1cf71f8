"""COPY INTO: files are copied once, in one commit, with Spark's meaning of the options."""

import datetime
import gzip
import json
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import (
    ConcurrentTransactionException,
    ConstraintViolationError,
    CorruptDataFileError,
    DeltaError,
    SchemaMismatchError,
    StorageError,
    UnsupportedFeatureError,
)
from deltaarrow.spark_sql import Words
from deltaarrow.sql.copy.copied_files import SourceFiles, name_pattern
from deltaarrow.sql.copy.source_options import parse_source_options
from deltaarrow.sql.copy.source_rows import rows_of_files
from deltaarrow.sql.copy.spark import parse_copy_into
from tests.support.duckdb_session import duckdb_session

COLUMNS = pa.schema([("id", pa.int32()), ("name", pa.string()), ("day", pa.date32())])


@pytest.fixture
def con(tmp_path):
    DeltaTable.create(tmp_path / "lake" / "t", COLUMNS)
    (tmp_path / "in").mkdir()
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(tmp_path / "lake", "lake")


@pytest.fixture
def table(tmp_path):
    return lambda: DeltaTable(tmp_path / "lake" / "t")


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8", newline="")

    return write


@pytest.fixture
def copy(con, tmp_path):
    def copy(rest, source=None):
        result = con.sql(f"COPY INTO lake.t FROM '{source or tmp_path / 'in'}' FILEFORMAT = {rest}")
        [row] = result.to_pylist()
        assert row["num_affected_rows"] == row["num_inserted_rows"]
        assert row["num_skipped_corrupt_files"] == 0
        return row["num_inserted_rows"]

    return copy


def rows(table):
    return sorted((tuple(row.values()) for row in table().to_pyarrow_table().to_pylist()), key=repr)


@pytest.fixture
def read(tmp_path):
    def read(source_format, text, options=()):
        (tmp_path / "file").write_text(text, "utf-8", newline="")
        with duckdb_session() as cursor:
            found = parse_source_options(source_format, dict(options))
            sql = rows_of_files(cursor, source_format, [str(tmp_path / "file")], found)
            return cursor.execute(sql).fetchall()

    return read


HEADER = "CSV FORMAT_OPTIONS ('header' = 'true')"


def test_each_file_is_copied_once_in_one_commit(copy, write, table):
    write("a.csv", "id,name,day\n1,x,2026-01-02\n2,,\n")
    assert copy(HEADER) == 2
    assert rows(table) == [(1, "x", datetime.date(2026, 1, 2)), (2, None, None)]
    assert copy(HEADER) == 0
    write("b.csv", "name,id\ny,3\n")
    write("a.csv", "id,name\n9,\n")  # has been copied before, whatever is in it now
    assert copy(HEADER) == 1
    assert table().version() == 2
    assert table().history(1)[0]["operation"] == "COPY INTO"
    assert copy(f"{HEADER} COPY_OPTIONS ('force' = 'true')") == 2
    assert copy(f"{HEADER} COPY_OPTIONS ('force' = 'true')") == 2
    assert {each.version for each in table().snapshot.transactions.values()} == {2}


def test_files_are_remembered_by_transactions_that_checkpoints_keep(copy, write, table):
    write("a.csv", "1,x,2026-01-02\n")
    with pytest.raises(SchemaMismatchError, match="_c0"):
        copy("CSV")
    assert table().version() == 0
    assert copy("CSV FORMAT_OPTIONS ('mergeSchema' = 'true') COPY_OPTIONS ('mergeSchema' = 'true')") == 1
    [(name, transaction)] = table().snapshot.transactions.items()
    assert name.startswith("copyInto:")
    assert "a.csv" not in name
    assert transaction.version == 0
    table().create_checkpoint()
    table().delete()
    assert copy("CSV") == 0


def test_one_file_is_the_same_by_each_of_its_paths(copy, write, tmp_path, monkeypatch):
    write("a.csv", "id\n1\n")
    monkeypatch.chdir(tmp_path / "in")
    assert copy(HEADER, source="a.csv") == 1
    for source in (tmp_path / "in" / "a.csv", f"file://{tmp_path}/in", ".", f"{tmp_path}/in/"):
        assert copy(HEADER, source=source) == 0


def test_what_fails_remembers_nothing(copy, write, table):
    write("a.csv", "id\n1\nabc\n")
    with pytest.raises(ConstraintViolationError, match="abc is not a valid INTEGER"):
        copy(HEADER)
    assert table().version() == 0
    write("a.csv", "id\n1\n")
    assert copy(HEADER) == 1


def test_of_two_that_copy_one_file_one_is_refused(con, copy, write, table, monkeypatch):
    write("a.csv", "id\n1\n")
    stale = table()
    copy(HEADER)
    with monkeypatch.context() as patched:
        patched.setattr("deltaarrow.sql.session.DeltaTable", lambda *_, **__: stale)
        with pytest.raises(ConcurrentTransactionException):
            copy(HEADER)
    assert rows(table) == [(1, None, None)]


def test_files_are_chosen_by_name_and_by_pattern(copy, write, table):
    for name in ("a1.csv", "a2.csv", "b.csv", "sub/c.csv", "_hidden.csv", ".hidden.csv", "_dir/d.csv"):
        write(name, "id\n1\n")
    options = "FORMAT_OPTIONS ('header' = 'true')"
    assert copy(f"CSV FILES = ('a1.csv', 'a1.csv') {options}") == 1
    assert copy(f"CSV PATTERN = 'a[12].{{csv,txt}}' {options}") == 1
    assert copy(f"CSV PATTERN = 's*/*.csv' {options}") == 1
    assert copy(f"CSV {options}") == 1
    assert copy("CSV FORMAT_OPTIONS ('header' = 'true', 'recursiveFileLookup' = 'true')") == 0


@pytest.mark.parametrize(
    "name", ["../outside.csv", "/etc/passwd", "*.csv", "b.csv", "sub/../../outside.csv", "_x.csv"]
)
def test_a_name_leads_to_a_file_of_the_folder_alone(tmp_path, name):
    (tmp_path / "in").mkdir()
    for file in ("outside.csv", "in/a.csv", "in/_x.csv"):
        (tmp_path / file).write_text("id\n1\n")
    with pytest.raises(StorageError, match="PATH_NOT_FOUND"):
        SourceFiles.find(str(tmp_path / "in"), None, files=[name])


def test_a_pattern_leads_to_files_of_the_folder_alone(tmp_path):
    (tmp_path / "in").mkdir()
    for file in ("outside.csv", "in/a.csv"):
        (tmp_path / file).write_text("id\n1\n")
    for pattern in ("../*", "/*/passwd", "{../outside,b}.csv"):
        assert SourceFiles.find(str(tmp_path / "in"), None, pattern=pattern).names == []


def test_the_name_of_a_file_is_no_pattern_and_no_sql(copy, write, table):
    names = ["a*.csv", "a[1].csv", "it's.csv", "a b;--.csv", "%41.csv"]
    for number, name in enumerate([*names, "a1.csv"]):
        write(name, f"id\n{number}\n")
    quoted = ", ".join("'{}'".format(name.replace("'", "\\'")) for name in names)
    assert copy(f"CSV FILES = ({quoted}) FORMAT_OPTIONS ('header' = 'true')") == 5
    assert [row[0] for row in rows(table)] == [0, 1, 2, 3, 4]


def test_a_query_chooses_and_computes(con, copy, write, table, tmp_path):
    write("a.csv", "1;x\n2;y\n3;z\n")
    con.sql(
        f"COPY INTO lake.t FROM (SELECT CAST(f._c0 AS INT) * 10 AS id, upper(_c1) AS name"
        f" FROM '{tmp_path}/in' AS f WHERE _c0 <> '2') FILEFORMAT = 'csv' FORMAT_OPTIONS (sep = ';')"
    )
    assert rows(table) == [(10, "X", None), (30, "Z", None)]


def test_columns_by_their_position(con, write, table, tmp_path):
    write("a.csv", "2026-01-02,1\n")
    con.sql(f"COPY INTO lake.t (day, id) FROM '{tmp_path}/in' FILEFORMAT = CSV")
    write("b.csv", "2,x,2026-01-03\n")
    con.sql(f"COPY INTO lake.t BY POSITION FROM '{tmp_path}/in' FILEFORMAT = CSV")
    assert rows(table) == [(1, None, datetime.date(2026, 1, 2)), (2, "x", datetime.date(2026, 1, 3))]


def test_columns_are_added_with_the_types_that_their_texts_have(copy, write, table):
    write("a.csv", "id,n,l,x,d,t,b,s,h\n1,1,9999999999,1.5,2026-01-02,2026-01-02 03:04:05,true,1x,\n")
    options = "FORMAT_OPTIONS ('header' = 'true', 'inferSchema' = 'true')"
    assert copy(f"CSV {options} COPY_OPTIONS ('mergeSchema' = 'true')") == 1
    types = {field.name: field.type.type for field in table().schema().fields}
    assert list(types.items())[3:] == [
        ("n", "integer"),
        ("l", "long"),
        ("x", "double"),
        ("d", "date"),
        ("t", "timestamp"),
        ("b", "boolean"),
        ("s", "string"),
        ("h", "string"),
    ]


def test_a_text_of_the_table_stays_as_it_is_though_types_are_inferred(copy, write, table):
    write("a.csv", "id,name\n1,007\n")
    copy("CSV FORMAT_OPTIONS ('header' = 'true', 'inferSchema' = 'true')")
    assert rows(table) == [(1, "007", None)]


def test_files_with_other_columns_need_a_word(copy, write, table):
    write("a.csv", "id\n1\n")
    write("b.csv", "name,id\nx,2\n")
    with pytest.raises(SchemaMismatchError, match="'mergeSchema' = 'true'"):
        copy(HEADER)
    assert copy("CSV FORMAT_OPTIONS ('header' = 'true', 'mergeSchema' = 'true')") == 2
    assert rows(table) == [(1, None, None), (2, "x", None)]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ('1,"a ""b"""\n', {"escape": '"'}, ['a "b"']),
        ('1,"a \\"b\\""\n2,"c\\\\"\n', {}, ['a "b"', "c\\"]),
        ('1,"C:\\temp"\n2,C:\\temp\n', {}, ["C:\\temp", "C:\\temp"]),
        ('1,"a\nb"\n', {"multiLine": "true"}, ["a\nb"]),
        ('1,NA\n2,"NA"\n3,\n4,""\n', {"nullValue": "NA"}, [None, None, None, ""]),
        ('1,"x"\n2,\n3,""\n', {}, ["x", None, None]),
        ("1|'x|y'\n", {"sep": "|", "quote": "'"}, ["x|y"]),
        ("1\t x \n", {"delimiter": "\\t"}, [" x "]),
        ('1,"x"\n', {"quote": ""}, ['"x"']),
        ("\ufeff1,x\r\n\r\n2,y\r\n", {}, ["x", "y"]),
    ],
)
def test_csv_as_spark_reads_it(read, text, options, expected):
    assert [row[1] for row in read("csv", text, options)] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,x\n2,z,3\n", "Expected Number of Columns: 2 Found: 3"),
        ('1,"x ""y"""\n', "unterminated quote"),
        ('1,"x\ny"\n', "'multiLine' = 'true'"),
        ('1,"\\"x"\n2,"C:\\temp"\n', "stands before quotes and before other characters"),
    ],
)
def test_csv_that_spark_may_read_otherwise_is_refused(read, text, message):
    with pytest.raises((DeltaError, duckdb.Error), match=message):
        read("csv", text)


def test_dates_by_a_format(copy, write, table):
    write("a.csv", "id,day\n1,31.12.2026\n")
    assert copy("CSV FORMAT_OPTIONS ('header' = 'true', 'dateFormat' = 'dd.MM.yyyy')") == 1
    write("b.json", '{"id": 2, "day": "20261230"}')
    assert copy("JSON PATTERN = '*.json' FORMAT_OPTIONS ('dateFormat' = 'yyyyMMdd')") == 1
    assert [row[2] for row in rows(table)] == [datetime.date(2026, 12, 31), datetime.date(2026, 12, 30)]


def test_json(con, copy, write, tmp_path):
    write(
        "a.json", '{"id": 1, "m": {"x": 1, "y/~": [1, null]}}\n\n[{"id": 2, "m": {"z": "s"}}, {"v": 1.5}]\n'
    )
    write("b.json", '{"v": 2, "k": "t", "mixed": 1}\n{"k": null, "mixed": "x"}\n')
    options = "FORMAT_OPTIONS ('mergeSchema' = 'true') COPY_OPTIONS ('mergeSchema' = 'true')"
    assert copy(f"JSON {options}") == 5
    found = con.sql("SELECT id, k, m, mixed, v FROM lake.t ORDER BY id, v, mixed").to_arrow_table()
    assert found.schema.field("m").type == pa.struct(
        [("x", pa.int64()), ("y/~", pa.list_(pa.int64())), ("z", pa.string())]
    )
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (None, None, None, "x", None),
        (None, None, None, None, 1.5),
        (None, "t", None, "1", 2.0),
        (1, None, {"x": 1, "y/~": [1, None], "z": None}, None, None),
        (2, None, {"x": None, "y/~": None, "z": "s"}, None, None),
    ]


def test_json_of_several_lines(copy, write, table):
    write("a.json", '[\n {"id": 1},\n {"id":\n 2}\n]')
    with pytest.raises(CorruptDataFileError, match="Malformed JSON"):
        copy("JSON")
    assert copy("JSON FORMAT_OPTIONS ('multiLine' = 'true')") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": 1} x', "Malformed JSON"),
        ('{"id": 1}\n5', "no JSON object"),
        ('{"id": 1, "id": 2}', "differ in nothing or only in their case"),
        ('{"id": 1}\n{"ID": 2}', "differ in nothing or only in their case"),
    ],
)
def test_json_that_is_not_certain_is_refused(read, text, message):
    with pytest.raises((DeltaError, duckdb.Error), match=message):
        read("json", text)


def test_parquet_and_compressed_text(copy, tmp_path, table):
    pq.write_table(pa.table({"ID": [1], "name": ["p"]}), tmp_path / "in" / "a.parquet")
    assert copy("PARQUET") == 1
    (tmp_path / "in" / "b.csv.gz").write_bytes(gzip.compress(b"id,name\n2,z\n"))
    assert copy("CSV PATTERN = '*.gz' FORMAT_OPTIONS ('header' = 'true')") == 1
    assert rows(table) == [(1, "p", None), (2, "z", None)]


def test_values_are_exact(con, tmp_path, write):
    DeltaTable.create(tmp_path / "lake" / "m", pa.schema([("m", pa.decimal128(30, 4))]))
    write("a.csv", "m\n12345678901234567890.1234\n")
    con.sql(f"COPY INTO lake.m FROM '{tmp_path}/in' FILEFORMAT = {HEADER}")
    [row] = DeltaTable(tmp_path / "lake" / "m").to_pyarrow_table().to_pylist()
    assert row == {"m": Decimal("12345678901234567890.1234")}


def test_empty_files_are_remembered(copy, write, table):
    write("a.csv", "")
    write("b.json", "\n")
    assert copy("CSV FILES = ('a.csv')") == 0
    assert copy("JSON FILES = ('b.json')") == 0
    assert len(table().snapshot.transactions) == 2


def test_a_delta_table_and_partitions_are_no_folders_of_files(copy, write, tmp_path):
    with pytest.raises(UnsupportedFeatureError, match="is a Delta table"):
        copy("PARQUET", source=tmp_path / "lake" / "t")
    write("day=1/a.csv", "id\n1\n")
    with pytest.raises(UnsupportedFeatureError, match="divided into partitions"):
        copy(HEADER)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("ORC", "CSV, JSON, PARQUET"),
        ("CSV FORMAT_OPTIONS ('heder' = 'true')", "did you mean header"),
        ("CSV FORMAT_OPTIONS ('header' = 'yes')", "true or false"),
        ("CSV FORMAT_OPTIONS ('sep' = '||')", "one character"),
        ("CSV FORMAT_OPTIONS ('mode' = 'DROPMALFORMED')", "FAILFAST"),
        ("CSV FORMAT_OPTIONS ('encoding' = 'latin1')", "UTF-8"),
        ("JSON FORMAT_OPTIONS ('header' = 'true')", "header of JSON files"),
        ("CSV COPY_OPTIONS ('forced' = 'true')", "force and mergeSchema"),
        ("CSV COPY_OPTIONS ('force' = 'x')", "true or false"),
        ("CSV VALIDATE 5", "ROWS is expected"),
        ("CSV VALIDATE 'a'", "the number of rows is a whole number"),
        ("CSV FORMAT_OPTIONS ('ignoreCorruptFiles' = '1')", "true or false"),
        ("CSV FILES = ('a') PATTERN = 'b'", "exclude each other"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(rest, message):
    with pytest.raises(UnsupportedFeatureError, match=message):
        copy = parse_copy_into(Words(f"COPY INTO t FROM '/in' FILEFORMAT = {rest}"))
        parse_source_options(copy.format, copy.format_options)


def test_a_secret_in_the_source_is_not_shown(con):
    with pytest.raises(DeltaError) as raised:
        con.sql("COPY INTO lake.t FROM 'memory://user:geheim@x/y' FILEFORMAT = CSV")
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(
    ("pattern", "taken", "left"),
    [
        ("*", ["a", "a.b"], ["a/b"]),
        ("?[^a-c]*", ["xd", "xde"], ["xa", "d"]),
        ("{a,b{c,d}}x", ["ax", "bcx", "bdx"], ["bx", "a,x"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("a.b(c)", ["a.b(c)"], ["axb(c)"]),
    ],
)
def test_patterns_are_those_of_hadoop(pattern, taken, left):
    matches = name_pattern(pattern).fullmatch
    assert [each for each in (*taken, *left) if matches(each)] == taken


@pytest.mark.parametrize("pattern", ["{a", "[a", "a\\", "[b-a]"])
def test_what_is_no_pattern_is_refused(pattern):
    with pytest.raises(UnsupportedFeatureError, match="close its brackets"):
        name_pattern(pattern)


def test_the_log_has_one_transaction_a_file(copy, write, tmp_path):
    write("a.csv", "id\n1\n")
    write("b.csv", "id\n2\n")
    copy(HEADER)
    log = (tmp_path / "lake" / "t" / "_delta_log" / f"{1:020d}.json").read_text()
    kinds = [next(iter(json.loads(line))) for line in log.splitlines()]
    assert sorted(kinds) == ["add", "commitInfo", "txn", "txn"]


def damaged_files(folder):
    """Two good files of each format, and damaged ones with the errors that each alone gives."""
    pq.write_table(pa.table({"id": pa.array(range(1000), pa.int32())}), folder / "good.parquet")
    whole = (folder / "good.parquet").read_bytes()
    packed = gzip.compress(b"id\n" + b"".join(b"%d\n" % (each * 7919 % 1000) for each in range(9000)))
    (folder / "good.csv.gz").write_bytes(packed)
    (folder / "good.json").write_text('{"id": 1}\n')
    page = bytearray(whole)
    page[200:4000] = b"\xff" * 3800
    return {
        "text.parquet": b"no Parquet, but text",
        "empty.parquet": b"",
        "short.parquet": whole[: len(whole) // 2],
        "page.parquet": bytes(page),
        "header.parquet": whole[:4] + b"\xff" * 26 + whole[30:],
        "short.csv.gz": packed[: len(packed) // 2],
        "text.csv.gz": b"id\n1\n",
        "text.json.gz": b'{"id": 1}\n',
    }


def test_damaged_files_are_left_out_if_the_statement_says_so(con, tmp_path, table):
    folder = tmp_path / "in"
    for name, data in damaged_files(folder).items():
        (folder / name).write_bytes(data)
        source_format = name.removesuffix(".gz").rpartition(".")[2]
        text = f"COPY INTO lake.t FROM '{folder}' FILEFORMAT = {source_format} PATTERN = '*.{{p}}*' "
        text = text.replace("{p}", source_format)
        header = ", 'header' = 'true'" if source_format == "csv" else ""
        with pytest.raises(CorruptDataFileError, match="a file cannot be read: "):
            con.sql(
                f"{text} FORMAT_OPTIONS ('mergeSchema' = 'false'{header}) COPY_OPTIONS ('force' = 'true')"
            )
        before = table().version()
        options = f"FORMAT_OPTIONS ('ignoreCorruptFiles' = 'true'{header}) COPY_OPTIONS ('force' = 'true')"
        [row] = con.sql(text + options).to_pylist()
        assert row["num_skipped_corrupt_files"] == 1
        assert row["num_inserted_rows"] == {"parquet": 1000, "csv": 9000, "json": 1}[source_format]
        metrics = table().history(1)[0]["operationMetrics"]
        assert metrics["numSkippedCorruptFiles"] == "1"
        assert table().version() == before + 1
        (folder / name).unlink()


def test_damaged_file_is_copied_once_it_is_whole(copy, con, tmp_path, table):
    (tmp_path / "in" / "a.parquet").write_bytes(b"not yet")
    options = "PARQUET FORMAT_OPTIONS ('ignoreCorruptFiles' = 'true')"
    found = con.sql(f"COPY INTO lake.t FROM '{tmp_path}/in' FILEFORMAT = {options}")
    assert found.to_pylist()[0]["num_skipped_corrupt_files"] == 1
    assert table().version() == 0
    pq.write_table(pa.table({"id": pa.array([5], pa.int32())}), tmp_path / "in" / "a.parquet")
    assert copy(options) == 1
    assert rows(table) == [(5, None, None)]


def test_damaged_line_is_an_error_though_damaged_files_are_left_out(copy, write, table):
    write("a.csv", "id\n1\n2,3\n")
    with pytest.raises(CorruptDataFileError, match="Expected Number of Columns"):
        copy("CSV FORMAT_OPTIONS ('header' = 'true', 'ignoreCorruptFiles' = 'true')")
    assert table().version() == 0


def test_rows_are_checked_and_shown_without_being_copied(con, write, table, tmp_path):
    write("a.csv", "id,name,day\n" + "".join(f"{number},n,2026-01-02\n" for number in range(99)))
    text = f"COPY INTO lake.t FROM '{tmp_path}/in' FILEFORMAT = CSV VALIDATE {{}}"
    options = "FORMAT_OPTIONS ('header' = 'true')"
    files = sorted(tmp_path.rglob("*"))
    for clause, number in (("", 50), ("ALL", 50), ("15 ROWS", 15), ("70 ROWS", 50)):
        found = con.sql(f"{text.format(clause)} {options}")
        assert found.schema.equals(COLUMNS)
        assert found.column("id").to_pylist() == list(range(number))
    assert sorted(tmp_path.rglob("*")) == files
    assert con.sql(f"COPY INTO lake.t FROM '{tmp_path}/in' FILEFORMAT = CSV {options}").num_rows == 1
    assert con.sql(f"{text.format('ALL')} {options}").num_rows == 0


def test_check_finds_what_a_copy_would_find(con, write, table, tmp_path):
    con.sql("ALTER TABLE lake.t ADD CONSTRAINT small CHECK (id < 50)")
    write("a.csv", "id,name\n" + "".join(f"{number},n\n" for number in range(99)))
    write("b.csv", "id,other\nx,n\n")
    text = f"COPY INTO lake.t FROM '{tmp_path}/in' FILEFORMAT = CSV VALIDATE {{}} FILES = ('{{}}')"
    options = "FORMAT_OPTIONS ('header' = 'true')"
    with pytest.raises(ConstraintViolationError, match="small"):
        con.sql(f"{text.format('ALL', 'a.csv')} {options}")
    assert con.sql(f"{text.format('50 ROWS', 'a.csv')} {options}").num_rows == 50
    with pytest.raises(SchemaMismatchError, match="other"):
        con.sql(f"{text.format('', 'b.csv')} {options}")
    with pytest.raises(ConstraintViolationError, match="x is not a valid"):
        con.sql(f"{text.format('', 'b.csv')} {options} COPY_OPTIONS ('mergeSchema' = 'true')")
    write("b.csv", "id,other\n1,n\n")
    found = con.sql(f"{text.format('', 'b.csv')} {options} COPY_OPTIONS ('mergeSchema' = 'true')")
    assert found.to_pylist() == [{"id": 1, "name": None, "day": None, "other": "n"}]
    assert table().schema().to_arrow().equals(COLUMNS, check_metadata=False)
