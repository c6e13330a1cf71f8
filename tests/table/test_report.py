"""`table.report`: a page without network and scripts, whose numbers are those of the operations."""

import html.parser
import re
import shutil
import subprocess
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import deltaarrow as da
from deltaarrow.display.html_parts import Bar, bar_plot
from deltaarrow.operations import optimize
from deltaarrow.table.report import advise, gather_facts, measure_skipping, read_commit_bytes
from deltaarrow.table.report.facts import TableFacts
from tests.support.examples import examples
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("p", pa.string())])
VECTORS = {"delta.enableDeletionVectors": "true"}
NASTY = "<script>alert(1)</script>\" onload='x' &amp; \x1b[31m \u202e </style> ]]> {x}"
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "dl",
        "div",
        "dt",
        "dd",
        "b",
    ),
    *("code", "figure", "figcaption", "small", "svg", "g", "line", "text", "rect", "span", "i"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "class", "style", "viewbox", "role", "aria-label"),
    *("x", "y", "x1", "x2", "y1", "y2", "width", "height", "text-anchor"),
}


class Parts(html.parser.HTMLParser):
    """The tags of a page in their order, with the names of their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        for name, value in attrs:
            assert name != "style" or re.fullmatch(r"width:\d+\.\d%", value)

    def handle_data(self, data):
        self.said.append(data)


def checked(page: str) -> Parts:
    """The parts of a page that holds nothing but what pages are made of."""
    parts = Parts(page)
    assert {tag for tag, _ in parts.tags} <= TAGS
    assert {name for _, names in parts.tags for name in names} <= ATTRIBUTES
    assert not re.search(r"url\(|@import|https?:", page)
    assert "default-src 'none'" in page
    assert not [c for c in page if not c.isprintable() and c != "\n"]
    return parts


def nasty_table(folder, text):
    """A table that has a text wherever texts of tables come to a page."""
    schema = pa.schema([("id", pa.int64()), (f"s{text}", pa.string()), (f"p{text}", pa.string())])
    builder = (
        TableBuilder(folder)
        .protocol(2, 5)
        .metadata(
            schema, [f"p{text}"], {"delta.columnMapping.mode": "none"}, name=f"t{text}", description=text
        )
    )
    stats = {"numRecords": 1}
    stats |= {key: {"id": 1, f"s{text}": text} for key in ("minValues", "maxValues")}
    add = builder.add_file(1, {f"p{text}": text}, stats=stats, name="x.parquet")
    info = {"operation": f"O{text}", "engineInfo": text, "userMetadata": f"U{text}"}
    builder.commit([add], info=info | {"operationParameters": {text: text}})
    return da.DeltaTable(folder)


def test_texts_of_strangers_are_only_text(tmp_path):
    table = nasty_table(tmp_path / "t", NASTY)
    parts = checked(table.report())
    said = "".join(parts.said)
    shown = NASTY.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    for before in "tspOU":
        assert f"{before}{shown}" in said
    plain = nasty_table(tmp_path / "plain", "x")
    assert parts.tags == checked(plain.report()).tags


@settings(
    max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("<>&\"'`=/!-]"),
        max_size=30,
    )
)
def test_no_text_changes_the_form_of_a_page(tmp_path_factory, text):
    table = nasty_table(tmp_path_factory.mktemp("t"), text)
    wanted = nasty_table(tmp_path_factory.mktemp("t"), "x")
    assert checked(table.report()).tags == checked(wanted.report()).tags


def test_secrets_of_the_location_are_left_out():
    table = da.DeltaTable.create("memory://r/t?token=abcdef", SCHEMA)
    assert "abcdef" not in table.report()


def test_numbers_that_mean_nothing_are_told_all_the_same(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    huge = {"numRecords": 2**62, "minValues": {"id": 5}, "maxValues": {"id": -5}, "nullCount": {"id": -1}}
    adds = [
        builder.add_file(1, {"p": "a"}, stats=huge, size=2**63 - 1),
        builder.add_file(1, {"p": None}, stats="nonsense", size=0),
        builder.add_file(1, {}, stats=False, size=2**62),
    ]
    builder.commit(adds, info={"timestamp": 2**62, "userMetadata": "x" * 10_000})
    builder.commit([builder.remove(adds[1], size="many")], info={"timestamp": -(2**62)})
    facts = gather_facts(da.DeltaTable(tmp_path).snapshot)
    assert (facts.num_files, facts.num_bytes, facts.uncounted) == (2, 2**63 - 1 + 2**62, 1)
    page = da.DeltaTable(tmp_path).report()
    checked(page)
    assert "x" * 200 not in page


def test_a_table_without_files_needs_nothing(tmp_path):
    table = da.DeltaTable.create(tmp_path, SCHEMA, partition_by=["p"])
    page = table.report()
    checked(page)
    assert "Nothing needs to be done." in page
    assert "would rewrite nothing" in page


def test_only_the_log_is_read(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": range(9), "p": list("aab") * 3}), partition_by="p")
    table = da.DeltaTable(tmp_path)
    for folder in tmp_path.glob("p=*"):
        shutil.rmtree(folder)
    assert gather_facts(table.snapshot).num_rows == 9
    assert "day" not in table.report()


FILES = st.lists(
    st.tuples(
        st.integers(1, 120),
        st.sampled_from(["a", "b", None]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 30),
    ),
    max_size=14,
)


@settings(
    max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(files=FILES, counted=st.booleans())
def test_the_forecast_of_a_compaction_is_its_plan(tmp_path_factory, files, counted):
    folder = tmp_path_factory.mktemp("t")
    schema = pa.schema([("id", pa.int64()), ("p", pa.string()), ("q", pa.string())])
    builder = TableBuilder(folder).features("deletionVectors")
    builder.metadata(schema, ["p", "q"], {"delta.targetFileSize": "100"})
    vectors = {n: builder.deletion_vector(range(n), "i") for _, _, _, n in files if n}
    adds = [
        builder.add_file(
            100,
            {"p": p, "q": q},
            stats={"numRecords": 100} if counted else False,
            size=size,
            deletion_vector=vectors.get(deleted),
        )
        for size, p, q, deleted in files
    ]
    builder.commit(adds)
    snapshot = da.DeltaTable(folder).snapshot
    plan = optimize.plan_compaction(snapshot, optimize.Selection(), optimize.CompactionRules())
    found = gather_facts(snapshot)
    assert found.compaction == (plan.num_files, plan.num_bytes, len(plan.bins))
    assert found.loose == sum(deleted > 0 for *_, deleted in files)
    assert found.num_partitions == len({each[1:3] for each in files})


@settings(
    max_examples=examples(7), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    bounds=st.lists(
        st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted) | st.just("null"),
        min_size=1,
        max_size=12,
    )
)
def test_the_share_of_opened_files_is_that_of_all_queries(tmp_path_factory, bounds):
    folder = tmp_path_factory.mktemp("t")
    builder = TableBuilder(folder).protocol().metadata(SCHEMA, ["p"])

    def stats(each):
        if each is None:
            return {"numRecords": 4}
        if each == "null":
            return {"numRecords": 4, "nullCount": {"id": 4}}
        return {"numRecords": 4, "minValues": {"id": each[0]}, "maxValues": {"id": each[1]}}

    builder.commit(
        [builder.add_file(4, {"p": str(n % 2)}, stats=stats(each)) for n, each in enumerate(bounds)]
    )
    known = [each for each in bounds if each not in (None, "null")]
    queries = [value for each in known for value in each]
    opened = [
        sum(each is None or (each != "null" and each[0] <= value <= each[1]) for each in bounds)
        for value in queries
    ] or [bounds.count(None)]
    snapshot = da.DeltaTable(folder).snapshot
    partition, number, text = measure_skipping(snapshot, {"p": pa.chunked_array([["0", "1"] * 5])})
    assert number.opened == pytest.approx(np.mean(opened) / len(bounds))
    assert number.bounded == pytest.approx(len(known) / len(bounds))
    assert (partition.name, partition.opened, partition.is_partition) == ("p", 0.5, True)
    assert text.name == "s"


def test_columns_of_all_types_are_measured_under_their_names(tmp_path):
    ordered = [pa.int8(), pa.float32(), pa.float64(), pa.decimal128(38, 3), pa.date32(), pa.string()]
    ordered += [pa.timestamp("us", "UTC"), pa.timestamp("us")]
    others = [pa.bool_(), pa.binary(), pa.list_(pa.int32())]
    fields = [pa.field(f"c.{place}", kind) for place, kind in enumerate([*ordered, *others])]
    schema = pa.schema([("s s", pa.struct(fields)), *fields])
    table = da.DeltaTable.create(tmp_path, schema, configuration={"delta.columnMapping.mode": "name"})
    for number in range(4):
        # Bounds of times have milliseconds.
        values = [
            pa.array([number * 1000 if pa.types.is_timestamp(kind) else number], integer).cast(kind)
            for kind in ordered
            for integer in [pa.int32() if kind == pa.date32() else pa.int64()]
        ]
        rows = pa.table({f.name: value for f, value in zip(fields, values, strict=False)})
        whole = pa.StructArray.from_arrays(values, names=[f"c.{place}" for place in range(len(ordered))])
        da.write_deltalake(table, rows.append_column("s s", whole), mode="append")
    found = measure_skipping(table.snapshot, {})
    names = [f"`c.{place}`" for place in range(len(ordered))]
    assert [each.name for each in found] == [*(f"s s.{name}" for name in names), *names]
    assert {(each.opened, each.bounded) for each in found} == {(0.25, 1.0)}


def test_bytes_are_those_of_files_that_came_and_went(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": range(100)}), configuration=VECTORS)
    table = da.DeltaTable(tmp_path)
    da.write_deltalake(table, pa.table({"id": range(100, 300)}), mode="append")
    sizes = [size.as_py() for size in table.inspect.files()["size_bytes"]]
    table.delete("id = 7")
    table.analyze()
    table.optimize.compact()
    (new,) = table.inspect.files()["size_bytes"].to_pylist()
    found = read_commit_bytes(table.snapshot)
    assert [each.version for each in found] == [0, 1, 2, 3, 4]
    assert sorted(each.written for each in found[:2]) == sorted(sizes)
    assert found[2][1:] == found[3][1:] == (0, 0)
    assert found[4][1:] == (new, sum(sizes))


def facts_of(folder, **options) -> TableFacts:
    da.write_deltalake(folder, pa.table({"id": range(4), "p": list("aabb")}), **options)
    return gather_facts(da.DeltaTable(folder).snapshot)


def advised(facts: TableFacts) -> list[str]:
    return [each.how for each in advise(facts)]


def test_advice_follows_from_what_is_there(tmp_path):
    table = da.DeltaTable.create(tmp_path / "t", SCHEMA, configuration=VECTORS)
    for _ in range(12):
        da.write_deltalake(table, pa.table({"id": range(100), "s": ["a"] * 100}), mode="append")
    table.delete("id % 2 = 0")
    assert advised(gather_facts(table.snapshot)) == [
        "table.optimize.compact()",
        "table.optimize.purge()",
        "table.analyze()",
        'table.alter.cluster_by(["..."])',
    ]
    table.analyze()
    assert "table.analyze()" not in advised(gather_facts(table.snapshot))
    table.optimize.compact()
    assert advised(gather_facts(table.snapshot)) == []
    assert advised(facts_of(tmp_path / "few", partition_by="p")) == []


def test_a_clustered_table_is_told_of_clustering(tmp_path):
    facts = facts_of(tmp_path, cluster_by=["id"])
    assert (facts.compaction, facts.clustering_columns) == (None, ["id"])
    assert "would cluster files by id" in da.DeltaTable(tmp_path).report()


def test_old_tombstones_and_missing_checkpoints_are_told(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(SCHEMA, ["p"])
    adds = [builder.add_file(1, {"p": "a"}, size=1000) for _ in range(30)]
    builder.commit(adds)
    for add in adds[:25]:
        builder.commit([builder.remove(add, deletionTimestamp=EPOCH_MS)], info={"timestamp": EPOCH_MS})
    facts = gather_facts(da.DeltaTable(tmp_path).snapshot)
    assert (facts.commits_since_checkpoint, facts.checkpoint_interval) == (26, 10)
    assert "table.create_checkpoint()" in advised(facts)


def ticks(*bars):
    return re.findall(r'text-anchor="end">([^<]*)<', bar_plot("Title", "note", bars))


def test_plots_have_round_ticks_above_and_below():
    assert ticks(Bar("a", 3), Bar("b", 9)) == ["0", "2", "4", "6", "8", "10"]
    assert ticks(Bar("a", 300), Bar("b", 0, 7_000)) == ["8k", "6k", "4k", "2k", "0", "2k"]
    assert ticks() == ["0", "1"]


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def pixels(picture: bytes) -> np.ndarray:
    """The rows of a PNG as Chromium writes it: eight bits, red, green, blue and perhaps alpha."""
    chunks, at = {}, 8
    while at < len(picture):
        length, name = int.from_bytes(picture[at : at + 4], "big"), picture[at + 4 : at + 8]
        chunks[name] = chunks.get(name, b"") + picture[at + 8 : at + 8 + length]
        at += length + 12
    width, height = (int.from_bytes(chunks[b"IHDR"][place : place + 4], "big") for place in (0, 4))
    deep = {2: 3, 6: 4}[chunks[b"IHDR"][9]]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + width * deep)
    found = np.zeros((height + 1, width + 1, deep), np.int64)
    for row, line in enumerate(lines, 1):
        kind, raw = line[0], line[1:].reshape(width, deep).astype(np.int64)
        above = found[row - 1]
        if kind < 3:
            base = above[1:] if kind == 2 else 0
            found[row, 1:] = (np.cumsum(raw, axis=0) if kind == 1 else raw + base) % 256
            continue
        for place in range(1, width + 1):
            left, up, corner = found[row, place - 1], above[place], above[place - 1]
            guess = (left + up) // 2
            if kind == 4:
                far = [np.abs(each - (left + up - corner)) for each in (left, up, corner)]
                is_left = (far[0] <= far[1]) & (far[0] <= far[2])
                guess = np.where(is_left, left, np.where(far[1] <= far[2], up, corner))
            found[row, place] = (raw[place - 1] + guess) % 256
    return found[1:, 1:, :3]


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="rendering needs Chromium, and there is none on the path")
@pytest.mark.parametrize("width", [390, 1000])
@pytest.mark.parametrize(
    ("scheme", "paper", "bars"), [(1, (251, 251, 249), (47, 111, 159)), (0, (21, 24, 26), (108, 176, 224))]
)
def test_a_browser_renders_the_page(tmp_path, scheme, paper, bars, width):
    """The paper is light or dark as the reader wishes, bars are drawn, and nothing leaves the window."""
    page = tmp_path / "report.html"
    page.write_text(nasty_table(tmp_path / "t", NASTY).report(), encoding="utf-8")
    picture = tmp_path / "report.png"
    subprocess.run(
        [
            *(CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={width},1400"),
            *(f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={picture}", page.as_uri()),
        ],
        check=True,
        capture_output=True,
        timeout=120,
    )
    found = pixels(picture.read_bytes())
    assert found.shape == (1400, width, 3)
    assert (found == bars).all(axis=2).sum() > 1000
    margins = np.concatenate([found[:, :10], found[:, -10:]], axis=1)
    assert (margins == paper).all()
