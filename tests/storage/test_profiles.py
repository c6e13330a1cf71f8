"""Profiles of AWS's configuration file: end point and credentials of S3 come from them."""

import pyarrow as pa
import pytest
import s3fs

import deltaarrow as da
from deltaarrow.errors import StorageError
from tests.support.stores import BUCKET

CONFIG = """
[profile lake]
region = eu-west-1
endpoint_url = {AWS_ENDPOINT_URL}
aws_access_key_id = {AWS_ACCESS_KEY_ID}
aws_secret_access_key = {AWS_SECRET_ACCESS_KEY}
"""
URI = f"s3://{BUCKET}/of-a-profile"


@pytest.fixture
def profiles(s3_options, tmp_path, monkeypatch):
    """The path of the configuration is known to the process, and no profile is chosen."""
    (tmp_path / "config").write_text(CONFIG.format(**s3_options))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    rows = pa.table({"id": [1, 2, 3]})
    da.write_deltalake(URI, rows, mode="overwrite", storage_options=s3_options)


@pytest.mark.parametrize("options", [{"AWS_PROFILE": "lake"}, {"aws_profile": "lake"}, {"profile": "lake"}])
def test_a_profile_may_be_a_storage_option(profiles, options):
    assert da.scan_delta(URI, storage_options=options).collect()["id"].to_list() == [1, 2, 3]
    assert da.DeltaTable(URI, storage_options=options).to_pyarrow_table()["id"].to_pylist() == [1, 2, 3]
    with da.connect(storage_options=options) as lake:
        assert lake.sql(f"SELECT sum(id) FROM delta.`{URI}`").fetchall() == [(6,)]


def test_a_profile_may_be_that_of_the_environment(profiles, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    # s3fs looks at the environment once for each set of options.
    s3fs.S3FileSystem.clear_instance_cache()
    with pytest.raises(StorageError, match="credentials"):
        da.DeltaTable(URI)
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setenv("AWS_PROFILE", "lake")
    assert da.scan_delta(URI).collect()["id"].to_list() == [1, 2, 3]
