"""What is nearly a URI, what a store's refusal means, and what delta-rs and s3a are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines import object_store
from pipelines.object_store import (
    check_lake_place,
    check_place,
    meaning,
    s3a_settings,
    storage_options,
)
from replica.errors import UnreadableFileError, UsageError

ENVIRONMENT = {
    "AWS_ENDPOINT_URL": "http://127.0.0.1:9000",
    "AWS_ACCESS_KEY_ID": "AKIAKEY",
    "AWS_SECRET_ACCESS_KEY": "SECRETPART",
    "AWS_SESSION_TOKEN": "TOKENPART",
}


@pytest.mark.parametrize("path", ["s3:/typo", "s3:bucket/x", "S3A:/b", "s3://", "s3:///x", "gs:/b"])
def test_a_malformed_uri_is_no_local_path(path: str) -> None:
    with pytest.raises(UsageError, match=r"no URI: write \w+://BUCKET/PATH$"):
        check_place(path)


@pytest.mark.parametrize("path", ["s3://b/x", "lake", "file:/x", "file:///x", "./s3:/x", "s3"])
def test_a_local_path_is_left_as_it_is(path: str) -> None:
    assert check_place(path) == path


def test_a_local_path_that_is_there_may_look_like_a_uri(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s3:").mkdir()
    assert check_place("s3:") == "s3:"


def test_a_lakes_uri_holds_no_secret() -> None:
    with pytest.raises(UsageError) as caught:
        check_lake_place("s3://AKIAKEY:SECRETPART@bucket/lake?x=TOKENPART")
    assert str(caught.value).startswith("--lake s3://bucket/lake: leave credentials")
    assert not any(secret in str(caught.value) for secret in ENVIRONMENT.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AWS Error ACCESS_DENIED during HeadObject operation: No response body.", "denies access"),
        ("AWS Error INVALID_ACCESS_KEY_ID during ListObjectsV2 operation: ...", "denies access"),
        ("Server returned non-2xx status code: 403 Forbidden", "denies access"),
        (
            "java.nio.file.AccessDeniedException: s3a://b/x: getFileStatus: (Status Code: 403)",
            "denies access",
        ),
        ("AWS Error EXPIRED_TOKEN during ListObjectsV2 operation: expired.", "have expired"),
        ("<Error><Code>ExpiredToken</Code><Message>The provided token has expired.", "expired"),
        ("AWS Error NO_SUCH_BUCKET during PutObject operation: none", "no such bucket"),
        ("AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7", "be reached"),
        ("HTTP error: error sending request: client error (Connect): tcp connect", "be reached"),
        ("AWS Error UNKNOWN (HTTP status 301) during HeadBucket operation", "another region"),
        ("AWS Error UNKNOWN (HTTP status 400) during HeadObject operation", "without a reason"),
    ],
)
def test_a_refusal_is_told_by_what_to_do(text: str, expected: str) -> None:
    means = meaning(text)
    assert means is not None
    assert expected in means


def test_anything_else_is_no_refusal() -> None:
    assert meaning("[TABLE_OR_VIEW_NOT_FOUND] no table 403 in s3://bucket") is None


def test_delta_rs_is_told_where_the_store_is_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    options = storage_options("s3://bucket/lake") or {}
    assert options["aws_endpoint_url"] == "http://127.0.0.1:9000"
    assert (options["aws_region"], options["aws_allow_http"]) == ("us-east-1", "true")
    assert not {"AKIAKEY", "SECRETPART", "TOKENPART"} & set(options.values())
    assert storage_options("/data/lake") is None


def test_s3a_is_told_where_the_store_is_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL_S3": "https://s3.example:9443"}.items():
        monkeypatch.setenv(name, value)
    settings = s3a_settings()
    assert settings["spark.hadoop.fs.s3a.endpoint"] == "https://s3.example:9443"
    assert settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "true"
    assert settings["spark.executorEnv.AWS_ENDPOINT_URL"] == "https://s3.example:9443"
    assert not {"AKIAKEY", "SECRETPART", "TOKENPART"} & set(settings.values())


def test_without_an_endpoint_aws_own_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    settings = s3a_settings()
    assert settings["spark.hadoop.fs.s3a.endpoint.region"] == "eu-west-1"
    assert not any(name.endswith((".endpoint", "ENDPOINT_URL")) for name in settings)


def test_a_store_that_nobody_runs_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(UnreadableFileError) as caught,
        object_store.opened("s3://bucket/x") as (store, path),
    ):
        store.get_file_info(path)
    assert str(caught.value).startswith(
        "s3://bucket/x: the store can't be reached: check AWS_ENDPOINT_URL and the network ("
    )
    assert "\n" not in str(caught.value)
