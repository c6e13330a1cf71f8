"""Each option of the tables in docs/stores.md has a proof: what it changes in the requests to a server."""

import contextlib
import itertools
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from deltaarrow.errors import StorageError
from deltaarrow.storage import open_store
from deltaarrow.storage.azure.options import AZURE_OPTIONS, azure_settings
from deltaarrow.storage.gcs.options import GCS_OPTIONS
from deltaarrow.storage.hf.options import HF_OPTIONS
from deltaarrow.storage.option_table import Option, OptionTable
from deltaarrow.storage.s3.options import S3_OPTIONS
from tests.support.cloud_server import ACCOUNT
from tests.support.modules import ROOT
from tests.support.recording_server import BODY, TOKEN, Recorded, RecordingServer, recording_server

pytest.importorskip("gcsfs")
pytest.importorskip("adlfs")

URIS = {"s3": "s3://bucket", "gcs": "gs://bucket", "azure": f"abfss://box@{ACCOUNT}.dfs.core.windows.net"}
TABLES = {"s3": S3_OPTIONS, "gcs": GCS_OPTIONS, "azure": AZURE_OPTIONS}
_numbers = itertools.count()


class Bench:
    """A server of a kind of store, and what asks it with options."""

    def __init__(
        self, kind: str, http: RecordingServer, https: RecordingServer, pem: Path, tmp: Path
    ) -> None:
        self.kind, self.http, self.https, self.pem, self.tmp = kind, http, https, pem, tmp
        self.environment = pytest.MonkeyPatch()

    def options(self, server: RecordingServer | None = None) -> dict[str, str]:
        """The options that reach a server."""
        url = (self.http if server is None else server).url
        return {
            "s3": {
                "AWS_ENDPOINT_URL": url,
                "AWS_REGION": "eu-west-1",
                "AWS_ACCESS_KEY_ID": "key",
                "AWS_SECRET_ACCESS_KEY": "secret",
                "max_retries": "0",
            },
            "gcs": {"GOOGLE_BASE_URL": url},
            "azure": {"AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}", "max_retries": "0"},
        }[self.kind]

    def trust(self) -> None:
        """Let aiohttp trust the certificate of the server, as with SSL_CERT_FILE in a new process."""
        context = ssl.create_default_context(cafile=str(self.pem))
        self.environment.setattr(
            aiohttp.TCPConnector,
            "_get_ssl_context",
            lambda connector, request: context if request.is_ssl() else None,
        )

    def asked(
        self, given: dict[str, Any], *, puts=False, server: RecordingServer | None = None, without=()
    ) -> Recorded:
        """The last request of a read, or of a put, with some options."""
        server = self.http if server is None else server
        options = {name: text for name, text in self.options(server).items() if name not in without}
        store = open_store(f"{URIS[self.kind]}/{next(_numbers)}", {**options, **given})
        if puts:
            path = store.arrow_path("f")
            store.service.put_if_absent(store.fsspec_filesystem(), path, b"content")
        else:
            assert store.read("f") == BODY
        return server.requests[-1]

    def fails(self, given: dict[str, Any], match: str, server: RecordingServer | None = None) -> bool:
        """Whether a read with some options fails."""
        with pytest.raises(StorageError, match=match):
            self.asked(given, server=server)
        return True


@pytest.fixture(scope="module")
def running(tmp_path_factory) -> Iterator[tuple[RecordingServer, RecordingServer, Path]]:
    folder = tmp_path_factory.mktemp("certificate")
    with recording_server() as http, recording_server(folder) as https:
        yield http, https, folder / "certificate.pem"


@pytest.fixture
def bench(request, running, tmp_path) -> Iterator[Bench]:
    found = Bench(request.param, *running, tmp_path)
    for name in [each for each in os.environ if each.startswith(("AWS_", "AZURE_", "GOOGLE_"))]:
        found.environment.delenv(name)
    yield found
    found.environment.undo()


# --- proofs -----------------------------------------------------------------------------------------


def signed_with(request: Recorded, key: str, secret: str, *, service: str = "s3") -> bool:
    """Whether the signature of a request of S3 or DynamoDB is that of a key and a secret."""
    from botocore.auth import S3SigV4Auth, SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    told = request.headers["authorization"]
    signed = told.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    headers = {name: request.headers[name] for name in signed}
    url = f"http://{request.headers['host']}{request.url}"
    again = AWSRequest(request.method, url, headers=headers, data=request.body)
    again.context["timestamp"] = request.headers["x-amz-date"]
    kind = S3SigV4Auth if service == "s3" else SigV4Auth
    signer = kind(Credentials(key, secret), service, "eu-west-1")
    text = signer.string_to_sign(again, signer.canonical_request(again))
    return f"Credential={key}/" in told and told.endswith(f"Signature={signer.signature(text, again)}")


def of_profile(bench: Bench) -> bool:
    (bench.tmp / "config").write_text(
        "[profile lake]\naws_access_key_id = of-profile\naws_secret_access_key = x\n"
    )
    bench.environment.setenv("AWS_CONFIG_FILE", str(bench.tmp / "config"))
    without = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    request = bench.asked({"AWS_PROFILE": "lake"}, without=without)
    return "Credential=of-profile/" in request.headers["authorization"]


def in_host(bench: Bench) -> bool:
    resolve = socket.getaddrinfo

    def to_loopback(host: Any, *arguments: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        return resolve("127.0.0.1" if str(name).endswith("lake.test") else host, *arguments, **more)

    bench.environment.setattr(socket, "getaddrinfo", to_loopback)
    url = bench.http.url.replace("127.0.0.1", "lake.test")
    request = bench.asked({"AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true", "AWS_ENDPOINT_URL": url})
    return request.headers["host"].startswith("bucket.lake.test:")


def of_lock(bench: Bench, server: RecordingServer | None = None, **given: str) -> Recorded:
    """The request to DynamoDB before a listing, which a server gets; by default the one for S3."""
    server = bench.http if server is None else server
    lock = {"AWS_S3_LOCKING_PROVIDER": "dynamodb"}
    before = len(server.requests)
    store = open_store(f"s3://bucket/{next(_numbers)}", {**bench.options(), **lock, **given})
    assert store.list_from("_delta_log") == []
    found = [each for each in server.requests[before:] if "x-amz-target" in each.headers]
    return found[0]


def at_other_server(bench: Bench) -> bool:
    """DynamoDB is another server than S3."""
    before = len(bench.http.requests)
    with recording_server() as other:
        found = of_lock(bench, other, AWS_ENDPOINT_URL_DYNAMODB=other.url)
    to_s3 = bench.http.requests[before:]
    return (
        "x-amz-target" in found.headers
        and len(to_s3) > 0
        and all("x-amz-target" not in each.headers for each in to_s3)
    )


LOCK_KEYS = {"AWS_ACCESS_KEY_ID_DYNAMODB": "of-lock", "AWS_SECRET_ACCESS_KEY_DYNAMODB": "secret-of-lock"}


def without_accepting(bench: Bench) -> bool:
    """A socket that takes no more connections."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(2):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        return bench.fails(
            {**reaching(bench, url), "connect_timeout": "300ms"}, r"(?i)time.?out|cannot connect"
        )


def without_answer(bench: Bench) -> bool:
    """A socket whose connections nobody reads."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(20)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        return bench.fails({**reaching(bench, url), "timeout": "300ms"}, r"(?i)time.?out")


def reaching(bench: Bench, url: str) -> dict[str, str]:
    return {
        "s3": {"AWS_ENDPOINT_URL": url},
        "gcs": {"GOOGLE_BASE_URL": url, "GOOGLE_SKIP_SIGNATURE": "true"},
        "azure": {"AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}", "AZURE_SKIP_SIGNATURE": "true"},
    }[bench.kind]


def by_proxy(bench: Bench) -> bool:
    """The server is the proxy of a host that there is not."""
    far = {**reaching(bench, "http://far.test"), "proxy_url": bench.http.url}
    return bench.asked(far).url.startswith("http://far.test")


def unchecked(bench: Bench) -> bool:
    """The server's certificate is one that nobody knows."""
    anonymous = {} if bench.kind == "s3" else {"skip_signature": "true"}
    server = bench.https
    assert bench.fails(anonymous, "(?i)certificate|ssl", server)
    return bench.asked({**anonymous, "allow_invalid_certificates": "true"}, server=server).method == "GET"


def unsigned(bench: Bench) -> bool:
    """By HTTPS; without it, everything is signed."""
    told = []
    for more in ({}, {"AWS_UNSIGNED_PAYLOAD": "true"}):
        given = {"allow_invalid_certificates": "true", **more}
        for puts in (False, True):
            request = bench.asked(given, puts=puts, server=bench.https)
            told.append(request.headers["x-amz-content-sha256"])
    return "UNSIGNED" not in told[0] and told[2] == "UNSIGNED-PAYLOAD" and "UNSIGNED" in told[3]


def after_idling(bench: Bench) -> bool:
    ports = []
    for idle in ("50ms", "30s"):
        store = open_store(f"s3://bucket/{next(_numbers)}", {**bench.options(), "pool_idle_timeout": idle})
        for _ in range(2):
            assert store.read("f") == BODY
            ports.append(bench.http.requests[-1].port)
            time.sleep(0.3)
    return ports[0] != ports[1] and ports[2] == ports[3]


def account_file(bench: Bench, **account: str) -> str:
    file = bench.tmp / "account.json"
    file.write_text(json.dumps({"gcs_base_url": bench.http.url, "disable_oauth": True, **account}))
    return str(file)


def of_google_user(bench: Bench) -> bool:
    """The file of the command gcloud, whose token the server of identities renews."""
    from google.oauth2 import credentials

    asked = []

    def refresh(self: Any, request: Any) -> None:
        asked.append((self.refresh_token, self.client_id))
        self.token = TOKEN

    bench.environment.setattr(credentials.Credentials, "refresh", refresh)
    user = {"type": "authorized_user", "client_id": "me", "client_secret": "x", "refresh_token": "again"}
    file = bench.tmp / "user.json"
    file.write_text(json.dumps(user))
    request = bench.asked({"GOOGLE_APPLICATION_CREDENTIALS": str(file)})
    return asked == [("again", "me")] and request.headers["authorization"] == f"Bearer {TOKEN}"


def of_identity(bench: Bench, **given: str) -> Recorded:
    """The request to the server of identities, whose token the store then gets."""
    bench.trust()
    server, host = bench.https, bench.https.url.removeprefix("https://")
    # Stores with equal options share a client, and so the token that it has.
    more = {"AZURE_AUTHORITY_HOST": host, "user_agent": f"mine {next(_numbers)}", **given}
    before = len(server.requests)
    assert bench.asked(more, server=server).headers["authorization"] == f"Bearer {TOKEN}"
    return server.requests[before]


APPLICATION = {"AZURE_CLIENT_ID": "me", "AZURE_CLIENT_SECRET": "hidden", "AZURE_TENANT_ID": "tenant"}


def of_workload(bench: Bench) -> bool:
    file = bench.tmp / "workload"
    file.write_text("token-of-the-workload")
    request = of_identity(
        bench,
        AZURE_FEDERATED_TOKEN_FILE=str(file),
        AZURE_CLIENT_ID="me",
        AZURE_TENANT_ID="tenant",
    )
    return request.form["client_assertion"] == "token-of-the-workload"


def of_machine(bench: Bench, given: dict[str, str], in_service: str, on_machine: str) -> bool:
    """The parameters by which App Service and a virtual machine are asked for a managed identity."""
    bench.trust()
    asked = []
    bench.environment.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", bench.http.url)
    for is_service in (True, False):
        for name, text in (("ENDPOINT", f"{bench.http.url}/identity"), ("HEADER", "x")):
            if is_service:
                bench.environment.setenv(f"IDENTITY_{name}", text)
            else:
                bench.environment.delenv(f"IDENTITY_{name}")
        before = len(bench.http.requests)
        more = {**given, "user_agent": f"mine {next(_numbers)}"}
        assert bench.asked(more, server=bench.https).headers["authorization"] == f"Bearer {TOKEN}"
        asked.append(bench.http.requests[before].url)
    return f"&{in_service}=mine" in asked[0] and f"&{on_machine}=mine" in asked[1]


def of_command(bench: Bench) -> bool:
    told = {"accessToken": TOKEN, "expiresOn": "2099-01-01 00:00:00.000000", "expires_on": 4070908800}
    command = bench.tmp / "az"
    command.write_text(f"#!/bin/sh\necho '{json.dumps(told)}'\n")
    command.chmod(0o755)
    bench.environment.setenv("PATH", f"{bench.tmp}:{os.environ['PATH']}")
    bench.trust()
    request = bench.asked({"AZURE_USE_AZURE_CLI": "true"}, server=bench.https)
    return request.headers["authorization"] == f"Bearer {TOKEN}"


def bearing(bench: Bench) -> bool:
    bench.trust()
    request = bench.asked({"AZURE_STORAGE_TOKEN": "mine"}, server=bench.https)
    return request.headers["authorization"] == "Bearer mine"


def put_with(header: str, text: str, **given: str) -> Callable[[Bench], bool]:
    return lambda bench: bench.asked(given, puts=True).headers.get(header) == text


def read_with(header: str, text: str | None, **given: str) -> Callable[[Bench], bool]:
    return lambda bench: bench.asked(given).headers.get(header) == text


KMS = {"AWS_SERVER_SIDE_ENCRYPTION": "aws:kms"}
SSE = "x-amz-server-side-encryption"
ANONYMOUS = {"skip_signature": "true"}
Proof = Callable[[Bench], bool]
PROOFS: dict[str, dict[str, Proof | str]] = {
    "s3": {
        "access_key_id": lambda bench: signed_with(
            bench.asked({"AWS_ACCESS_KEY_ID": "mine"}), "mine", "secret"
        ),
        "secret_access_key": lambda bench: signed_with(
            bench.asked({"AWS_SECRET_ACCESS_KEY": "mine"}), "key", "mine"
        ),
        "session_token": read_with("x-amz-security-token", "mine", AWS_SESSION_TOKEN="mine"),
        "profile": of_profile,
        "skip_signature": read_with("authorization", None, AWS_SKIP_SIGNATURE="true"),
        "region": lambda bench: "/far/s3/" in bench.asked({"AWS_REGION": "far"}).headers["authorization"],
        "endpoint_url": lambda bench: bench.asked({}).url.startswith("/bucket/"),
        "virtual_hosted_style_request": in_host,
        "unsigned_payload": unsigned,
        "request_payer": read_with("x-amz-request-payer", "requester", AWS_REQUEST_PAYER="true"),
        "server_side_encryption": put_with(SSE, "aws:kms", **KMS),
        "sse_kms_key_id": put_with(f"{SSE}-aws-kms-key-id", "mine", AWS_SSE_KMS_KEY_ID="mine", **KMS),
        "sse_bucket_key_enabled": put_with(
            f"{SSE}-bucket-key-enabled", "true", AWS_SSE_BUCKET_KEY_ENABLED="true", **KMS
        ),
        "s3_locking_provider": lambda bench: "x-amz-target" in of_lock(bench).headers,
        "endpoint_url_dynamodb": at_other_server,
        "region_dynamodb": lambda bench: (
            "/far/dynamodb/" in of_lock(bench, AWS_REGION_DYNAMODB="far").headers["authorization"]
        ),
        "access_key_id_dynamodb": lambda bench: (
            "Credential=of-lock/" in of_lock(bench, **LOCK_KEYS).headers["authorization"]
        ),
        "secret_access_key_dynamodb": lambda bench: signed_with(
            of_lock(bench, **LOCK_KEYS), "of-lock", "secret-of-lock", service="dynamodb"
        ),
        "session_token_dynamodb": lambda bench: (
            of_lock(bench, **LOCK_KEYS, AWS_SESSION_TOKEN_DYNAMODB="t").headers["x-amz-security-token"] == "t"
        ),
        "delta_dynamo_table_name": lambda bench: (
            json.loads(of_lock(bench, delta_dynamo_table_name="mine").body)["TableName"] == "mine"
        ),
        "delta_dynamo_ttl_seconds": "test_locked_commits.py::test_the_option_says_how_long_entries_are_kept",
        "delta_dynamo_scheme": "test_locked_commits.py::test_two_schemes_are_two_locks",
        "default_content_type": put_with("content-type", "a/b", default_content_type="a/b"),
        "allow_invalid_certificates": unchecked,
        "connect_timeout": without_accepting,
        "timeout": without_answer,
        "max_retries": "test_faults.py::test_the_option_says_how_often_a_request_is_repeated",
        "pool_idle_timeout": after_idling,
        "proxy_url": by_proxy,
        "user_agent": lambda bench: "mine" in bench.asked({"user_agent": "mine"}).headers["user-agent"],
    },
    "gcs": {
        "service_account": lambda bench: (
            bench.asked({"service_account": account_file(bench)}, without=("GOOGLE_BASE_URL",)).method
            == "GET"
        ),
        "service_account_key": lambda bench: (
            bench.asked(
                {"service_account_key": Path(account_file(bench)).read_text()}, without=("GOOGLE_BASE_URL",)
            ).method
            == "GET"
        ),
        "application_credentials": of_google_user,
        "bearer_token": read_with("authorization", "Bearer mine", GOOGLE_BEARER_TOKEN="mine"),
        "skip_signature": read_with("authorization", None, **ANONYMOUS),
        "base_url": lambda bench: "bucket" in bench.asked(ANONYMOUS).url,
        "timeout": "test_cloud.py::test_an_option_of_the_client_reaches_google",
        "connect_timeout": "test_cloud.py::test_an_option_of_the_client_reaches_google",
        "proxy_url": by_proxy,
    },
    "azure": {
        "account_name": "test_cloud.py::test_a_location_has_one_spelling_which_spark_knows",
        "account_key": lambda bench: (
            bench.asked({"account_key": "bWluZQ=="})
            .headers["authorization"]
            .startswith(f"SharedKey {ACCOUNT}:")
        ),
        "sas_token": lambda bench: "sig=mine" in bench.asked({"sas_token": "sv=1&sig=mine"}).url,
        "token": bearing,
        "client_id": lambda bench: of_identity(bench, **APPLICATION).form["client_id"] == "me",
        "client_secret": lambda bench: of_identity(bench, **APPLICATION).form["client_secret"] == "hidden",
        "tenant_id": lambda bench: of_identity(bench, **APPLICATION).url.startswith("/tenant/"),
        "authority_host": lambda bench: of_identity(bench, **APPLICATION).url.endswith("/oauth2/v2.0/token"),
        "federated_token_file": of_workload,
        "object_id": lambda bench: of_machine(bench, {"AZURE_OBJECT_ID": "mine"}, "object_id", "object_id"),
        "msi_resource_id": lambda bench: of_machine(
            bench, {"AZURE_MSI_RESOURCE_ID": "mine"}, "mi_res_id", "msi_res_id"
        ),
        "use_azure_cli": of_command,
        "skip_signature": read_with("authorization", None, **ANONYMOUS),
        "endpoint": lambda bench: bench.asked(ANONYMOUS).url.startswith(f"/{ACCOUNT}/box/"),
        "use_emulator": lambda _: azure_settings({"use_emulator": "true"}, None).url.endswith(
            f":10000/{ACCOUNT}"
        ),
        "use_fabric_endpoint": "test_cloud.py::test_the_emulator_and_fabric",
        "connect_timeout": without_accepting,
        "timeout": without_answer,
        "max_retries": "test_faults.py::test_the_option_says_how_often_a_request_is_repeated",
        "proxy_url": by_proxy,
        "user_agent": lambda bench: (
            "mine" in bench.asked({**ANONYMOUS, "user_agent": "mine"}).headers["user-agent"]
        ),
        "allow_invalid_certificates": unchecked,
    },
}
"""Kind of store -> the first name of an option -> its proof, or the test in this folder that is it."""


SLOW = (without_accepting, without_answer, after_idling, unchecked, unsigned, by_proxy, of_command, in_host)
"""Those that wait, or make a client or process of their own."""


@pytest.mark.parametrize(
    ("bench", "name"),
    [
        pytest.param(kind, name, id=f"{kind}-{name}", marks=[pytest.mark.slow] if proof in SLOW else [])
        for kind, proofs in PROOFS.items()
        for name, proof in proofs.items()
        if not isinstance(proof, str)
    ],
    indirect=["bench"],
)
def test_an_option_takes_effect(bench: Bench, name) -> None:
    proof = PROOFS[bench.kind][name]
    assert not isinstance(proof, str)
    assert proof(bench)


@pytest.mark.parametrize("kind", TABLES)
def test_every_option_has_a_proof(kind) -> None:
    table = TABLES[kind]
    assert [*PROOFS[kind]] == [option.names[0] for option in (*table.of_service, *table.of_client)]
    for proof in PROOFS[kind].values():
        if isinstance(proof, str):
            file, _, test = proof.partition("::")
            assert f"\ndef {test}(" in (ROOT / "tests" / "storage" / file).read_text()


# --- names of an option -----------------------------------------------------------------------------

OPTIONS = [
    pytest.param(table, option, id=f"{kind}-{option.names[0]}")
    for kind, table in {**TABLES, "hf": HF_OPTIONS}.items()
    for option in (*table.of_service, *table.of_client)
]


def value_of(option: Option) -> str:
    """A text that an option takes."""
    for text in ("30s", "7", "true", "AES256", "dynamodb", "s3", '{"disable_oauth": true}'):
        with contextlib.suppress(StorageError, ValueError):
            option.read(option.names[0], text)
            return text
    raise AssertionError(option)


@pytest.mark.parametrize(("table", "option"), OPTIONS)
def test_every_name_of_an_option_gives_the_same_arguments(table: OptionTable, option: Option) -> None:
    text = value_of(option)
    expected = table.read({option.names[0]: text})
    found: Any = expected
    for step in option.place:
        found = found[step]
    assert found == option.read(option.names[0], text)
    for name in option.names:
        # Those with a dot are settings of another program, which have no prefix.
        for prefix in ("",) if "." in name else ("", *table.prefixes):
            for spelled in (f"{prefix}{name}", f"{prefix}{name}".upper()):
                assert table.read({spelled: text}) == expected, spelled


@pytest.mark.parametrize(
    ("table", "option"),
    [each for each in OPTIONS if each.values[0] in (GCS_OPTIONS, AZURE_OPTIONS)],
)
def test_every_name_of_an_option_works_as_a_variable(table: OptionTable, option: Option) -> None:
    text = value_of(option)
    expected = table.read({option.names[0]: text}) if option in table.of_service else table.read({})
    for name in option.names:
        for prefix in table.prefixes:
            assert table.read({}, {f"{prefix}{name}".upper(): text}) == expected
