"""Clustering columns: chosen for new and existing tables, and kept by writes."""

import json

import pyarrow as pa
import pytest

import deltaarrow as da
from tests.support.commits import commit

pytestmark = pytest.mark.feature("clustering")

ROWS = pa.table(
    {
        "a": pa.array([1, 2], pa.int64()),
        "b": ["x", "y"],
        "s": [{"x": 1, "y.z": 2.5}, None],
        "l": [[1], []],
        "yes": [True, False],
        "raw": [b"1", b"2"],
    }
)
MAPPED = {"delta.columnMapping.mode": "name"}


def domain_of(path, version):
    (domain,) = (each["domainMetadata"] for each in commit(path, version) if "domainMetadata" in each)
    assert (domain["domain"], domain["removed"]) == ("delta.clustering", False)
    return json.loads(domain["configuration"])["clusteringColumns"]


def columns(path):
    return da.DeltaTable(path).detail()["clusteringColumns"]


@pytest.mark.parametrize("creates", [True, False])
def test_a_new_table_has_clustering_columns(tmp_path, creates):
    if creates:
        da.DeltaTable.create(tmp_path, ROWS.schema, cluster_by=["A", "s.`y.z`"])
    else:
        da.write_deltalake(tmp_path, ROWS, cluster_by=["A", "s.`y.z`"])
    assert domain_of(tmp_path, 0) == [["a"], ["s", "y.z"]]
    assert columns(tmp_path) == ["a", "s.y.z"]
    assert set(da.DeltaTable(tmp_path).protocol().writer_features) == {
        *("clustering", "domainMetadata", "invariants", "appendOnly")
    }


def test_the_domain_has_physical_names(tmp_path):
    da.DeltaTable.create(tmp_path, ROWS.schema, cluster_by="s.x", configuration=MAPPED)
    ((outer, inner),) = domain_of(tmp_path, 0)
    assert outer.startswith("col-")
    assert inner.startswith("col-")
    da.DeltaTable(tmp_path).alter.rename_column("s.x", "w")
    assert columns(tmp_path) == ["s.w"]


@pytest.mark.parametrize(
    ("cluster_by", "more", "match"),
    [
        (["a", "b", "s.x", "s.`y.z`", "yes"], {}, "up to 4"),
        (["nosuch"], {}, "nosuch"),
        (["a", "A"], {}, "twice"),
        (["s"], {}, "no bounds"),
        (["l"], {}, "no bounds"),
        (["yes"], {}, "no bounds"),
        (["raw"], {}, "no bounds"),
        (["a"], {"partition_by": ["b"]}, "not both"),
        (["b"], {"configuration": {"delta.dataSkippingNumIndexedCols": "1"}}, "no statistics"),
        (["b"], {"configuration": {"delta.dataSkippingStatsColumns": "a"}}, "no statistics"),
    ],
)
def test_columns_that_cannot_cluster_are_refused(tmp_path, cluster_by, more, match):
    for path in (tmp_path / "created", tmp_path / "written"):
        with pytest.raises(da.SchemaMismatchError, match=match):
            if path.name == "created":
                da.DeltaTable.create(path, ROWS.schema, cluster_by=cluster_by, **more)
            else:
                da.write_deltalake(path, ROWS, cluster_by=cluster_by, **more)
        assert not list(path.rglob("*.*"))
    if not more:
        da.write_deltalake(tmp_path, ROWS)
        with pytest.raises(da.SchemaMismatchError, match=match):
            da.DeltaTable(tmp_path).alter.cluster_by(cluster_by)


def test_a_variant_cannot_cluster(tmp_path):
    schema = da.Schema([da.Field("id", "long"), da.Field("v", "variant")])
    with pytest.raises(da.SchemaMismatchError, match=r"no bounds for its type, .*variant"):
        da.DeltaTable.create(tmp_path, schema, cluster_by="v")


def test_the_feature_is_not_had_by_a_property(tmp_path):
    with pytest.raises(da.UnsupportedFeatureError, match="cluster_by"):
        da.write_deltalake(tmp_path, ROWS, configuration={"delta.feature.clustering": "supported"})


def test_what_is_written_keeps_the_columns(tmp_path):
    da.write_deltalake(tmp_path, ROWS, cluster_by="a")
    da.write_deltalake(tmp_path, ROWS, mode="append", cluster_by=["a"])
    with pytest.raises(da.SchemaMismatchError, match=r"clustered by \['a'\], not by \['b'\]"):
        da.write_deltalake(tmp_path, ROWS, mode="append", cluster_by=["b"])
    da.write_deltalake(tmp_path, ROWS, mode="overwrite", predicate="a = 1 OR a = 2")
    da.write_deltalake(tmp_path, ROWS, mode="overwrite", cluster_by="a")
    only = {"mode": "overwrite", "schema_mode": "overwrite", "cluster_by": "a"}
    da.write_deltalake(tmp_path, ROWS.select(["a"]), **only)
    assert columns(tmp_path) == ["a"]
    assert not any("domainMetadata" in each for version in range(1, 5) for each in commit(tmp_path, version))
    assert all(each.get("add", {}).get("clusteringProvider") is None for each in commit(tmp_path, 4))
    with pytest.raises(da.SchemaMismatchError, match="clustering columns"):
        da.write_deltalake(tmp_path, ROWS.select(["b"]), **only)
    with pytest.raises(da.SchemaMismatchError, match="clustering columns"):
        da.DeltaTable(tmp_path).alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "0"})
    assert da.DeltaTable(tmp_path).version() == 4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"partition_overwrite_mode": "dynamic"},
        {"schema_mode": "merge"},
        {"schema_mode": "overwrite"},
        {"schema_mode": "overwrite", "partition_by": "b"},
    ],
    ids=str,
)
def test_an_overwrite_forgets_the_columns_unless_it_says_them_again(tmp_path, options):
    da.write_deltalake(tmp_path, ROWS, cluster_by=["a", "s.x"])
    data = ROWS.append_column("new", ROWS["a"]) if options.get("schema_mode") == "merge" else ROWS
    if options.get("schema_mode") == "overwrite":
        data = ROWS.drop_columns(["a"]).append_column("a", ROWS["b"])
    da.write_deltalake(tmp_path, data, mode="overwrite", **options)
    assert domain_of(tmp_path, 1) == columns(tmp_path) == []
    assert da.DeltaTable(tmp_path).to_pyarrow_table().num_rows == ROWS.num_rows
    da.write_deltalake(tmp_path, data, mode="append")
    assert not any("domainMetadata" in each for each in commit(tmp_path, 2))
    if "partition_by" not in options:
        da.DeltaTable(tmp_path).alter.cluster_by("b")
        assert columns(tmp_path) == ["b"]


def test_other_columns_are_chosen_and_given_up(tmp_path):
    da.write_deltalake(tmp_path, ROWS)
    table = da.DeltaTable(tmp_path)
    table.alter.cluster_by(None)
    assert table.version() == 0
    for chosen, found in (("b", ["b"]), (["S.x", "a"], ["s.x", "a"]), ([], []), (["a"], ["a"])):
        table.alter.cluster_by(chosen)
        assert columns(tmp_path) == found
    assert domain_of(tmp_path, 3) == []
    da.write_deltalake(tmp_path / "parts", ROWS, partition_by="b")
    with pytest.raises(da.SchemaMismatchError, match="not both"):
        da.DeltaTable(tmp_path / "parts").alter.cluster_by("a")
