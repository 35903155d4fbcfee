"""Object stores by URI: opened by pyarrow.fs, with errors of one line that says what to do.

Endpoint, region and credentials come from the variables of AWS' own tools: AWS_ENDPOINT_URL_S3 or
AWS_ENDPOINT_URL, AWS_REGION or AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or
a profile. pyarrow, delta-rs and Hadoop's s3a look up credentials themselves, so no setting holds a
secret. This module translates the settings that these libraries name differently, or don't read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from replica.errors import FileSystemError, KraftlakeError, UnreadableFileError, UsageError

_URI = re.compile(r"[a-z][a-z0-9+.-]*://.+", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/?]*@")
_S3 = re.compile(r"s3a?://", re.IGNORECASE)
_NEARLY = re.compile(r"(s3[an]?|gs|gcs|abfss?):(?!//[^/])", re.IGNORECASE)
_DEFAULT_REGION = "us-east-1"
"""The region for a user's own endpoint, because such an endpoint seldom has regions."""
_WITHOUT_REDIRECTS = "aws-global"
"""The name of a region for which AWS' SDK signs as for us-east-1, and with which it follows no
redirect (FollowRedirectsPolicy::DEFAULT of its ClientConfiguration). pyarrow has no setting for
that."""
_TRIES = 3
"""How often delta-rs and s3a try one request, within seconds. By their own defaults they try for
minutes where a store can't be reached. pyarrow gives up after 6 s by itself."""

_UNREACHABLE = "the store can't be reached: check AWS_ENDPOINT_URL and the network"
_MEANINGS = (
    (
        r"EXPIRED_?TOKEN|TOKEN_?REFRESH_?REQUIRED|REQUEST_?EXPIRED",
        "the credentials have expired: renew them (AWS_SESSION_TOKEN, or your profile's login)",
    ),
    (
        r"REQUEST_?TIME_?TOO_?SKEWED",
        "this machine's clock differs from the store's: set it",
    ),
    (
        r"NO_?SUCH_?BUCKET|UnknownStoreException|specified bucket does not exist",
        "there is no such bucket: make it, or name another",
    ),
    (
        r"AUTHORIZATION_?HEADER_?MALFORMED|PERMANENT_?REDIRECT|HTTP status 301",
        "the bucket is in another region: set AWS_REGION to it",
    ),
    (
        r"ACCESS_?DENIED|INVALID_?ACCESS_?KEY|SIGNATURE_?DOES_?NOT_?MATCH|INVALID_?SIGNATURE"
        r"|INVALID_?CLIENT_?TOKEN|UNRECOGNIZED_?CLIENT|\b40[13] (?:Forbidden|Unauthorized)",
        "the store denies access: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (or AWS_PROFILE) "
        "and the bucket's policy",
    ),
    (
        r"HTTP status 30[2378]|Received redirect",
        "the store redirects to another address, which kraftlake doesn't follow: name the server "
        "itself in AWS_ENDPOINT_URL",
    ),
    (
        r"HTTP status 400\) during Head",
        "the store refuses without a reason: check that the credentials have not expired, and "
        "AWS_REGION",
    ),
    (
        r"NETWORK_?CONNECTION|Could not connect|client error \(Connect\)|Connection refused"
        r"|ConnectException|UnknownHostException|operation timed out",
        _UNREACHABLE,
    ),
)


def is_uri(path: str) -> bool:
    """Whether a path is a URI that pyarrow.fs may know, and no local path."""
    return _URI.fullmatch(path) is not None


def is_s3(path: str) -> bool:
    """Whether a path is a URI of S3, in Hadoop's spelling or the usual one."""
    return _S3.match(path) is not None


def shown_uri(uri: str) -> str:
    """The URI without its parts that may be secret: user, password and query. For messages and
    tables."""
    return _USER.sub("", uri.partition("?")[0])


def s3a_uri(uri: str) -> str:
    """A URI of S3 as Hadoop spells it; any other path as it is."""
    return _S3.sub("s3a://", uri)


def check_place(path: str) -> str:
    """Gives the path unchanged. Raises UsageError for a malformed URI, which would be taken for a
    local path."""
    nearly = _NEARLY.match(path)
    if nearly is not None and not os.path.lexists(path):
        shown = f"{nearly[1]}:" if "@" in path else path  # the text before @ may be a secret
        raise UsageError(f"{shown}: no URI: write {nearly[1]}://BUCKET/PATH")
    return path


def check_local(path: str) -> str:
    """Gives the path unchanged. Raises UsageError for a URI, also a malformed one, where only local
    paths are read."""
    check_place(path)
    if is_uri(path) and not os.path.lexists(path):
        raise UsageError(
            f"{shown_uri(path)}: this reads local paths only: copy it from there, or bring it into "
            "a lake with `kraftlake ingest`, which reads URIs"
        )
    return path


def check_lake_place(lake: str) -> str:
    """The place of a lake, unchanged. Raises UsageError as `check_place` does, and for a URI with
    credentials or options: Spark and delta-rs would not understand them, and logs would show
    them."""
    check_place(lake)
    if is_uri(lake) and shown_uri(lake) != lake:
        raise UsageError(
            f"--lake {shown_uri(lake)}: leave credentials and options out of a lake's URI: they "
            "are read from AWS_ACCESS_KEY_ID and its like"
        )
    return lake


def _without_redirects(uri: str) -> str:
    """The URI for pyarrow. For an endpoint of the user's own in the default region, the URI makes
    pyarrow follow no redirects, because pyarrow would send a session token along. In another region
    the signature must name that region, and pyarrow follows redirects."""
    is_default = (_region() or _DEFAULT_REGION) == _DEFAULT_REGION and "region=" not in uri
    if not (is_s3(uri) and _endpoint() and is_default):
        return uri
    return f"{uri}{'&' if '?' in uri else '?'}region={_WITHOUT_REDIRECTS}"


@contextmanager
def opened(
    uri: str, refused: type[FileSystemError] = UnreadableFileError
) -> Iterator[tuple[Any, str]]:
    """(file system of pyarrow.fs, path in it). Errors become KraftlakeErrors, which never show the
    URI's secrets: an error of the type `refused` where the store refuses, UsageError for an unknown
    kind of URI."""
    from pyarrow import ArrowException, fs  # a heavy import, needed for URIs only

    shown = shown_uri(uri)
    try:
        yield fs.FileSystem.from_uri(_without_redirects(_S3.sub("s3://", uri)))
    except KraftlakeError:
        raise
    except OSError as error:
        raise refused(shown, reason(error, uri)) from None
    except (ArrowException, ValueError) as error:
        raise UsageError(f"{shown}: {reason(error, uri)}") from None


def check_bucket(store: Any, root: str, uri: str) -> None:
    """Raises UsageError where S3 has no such bucket: a listing would only be empty there. store,
    root: the results of `opened`."""
    bucket = root.partition("/")[0]
    if store.type_name == "s3" and store.get_file_info(bucket).type.name == "NotFound":
        raise UsageError(f"{shown_uri(uri)}: there is no bucket {bucket}: make it, or name another")


def reason(error: BaseException, uri: str) -> str:
    """Why the store refused, in one line, with what to do where that is known. The line shows no
    secret of the URI."""
    text = str(error)
    known = meaning(text)
    if known is not None:
        return f"{known} ({_said(text, uri)})"
    return _said(text, uri)


def meaning(text: str) -> str | None:
    """The meaning of a store's refusal, and what to do about it; None where the text is unknown.
    text: the words of any library."""
    for pattern, means in _MEANINGS:
        if re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return means
    return None


def is_unreachable(error: BaseException) -> bool:
    """Whether no store answered, so that asking for another file is useless."""
    return meaning(str(error)) == _UNREACHABLE


def storage_options(uri: str) -> dict[str, str] | None:
    """The settings that delta-rs must be given besides those that it finds itself; None where `uri`
    isn't S3's."""
    if not is_s3(uri):
        return None
    options = {"max_retries": str(_TRIES - 1), "retry_timeout": "20s"}
    endpoint = _endpoint()
    if endpoint is not None:
        options["aws_endpoint_url"] = endpoint
        options["aws_region"] = _region() or _DEFAULT_REGION
        options["aws_allow_http"] = str(_is_plain(endpoint)).lower()
    return options


def s3a_settings() -> dict[str, str]:
    """Spark's settings for Hadoop's s3a, and for the workers that write by pyarrow.fs."""
    settings = {
        # as pyarrow's: the environment, ~/.aws, a container's or a machine's role
        "aws.credentials.provider": (
            "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
        ),
        "attempts.maximum": str(_TRIES),
        "retry.limit": str(_TRIES),
    }
    endpoint, region = _endpoint(), _region()
    if endpoint is not None:
        settings["endpoint"] = endpoint
        settings["path.style.access"] = "true"
        settings["connection.ssl.enabled"] = str(not _is_plain(endpoint)).lower()
        region = region or _DEFAULT_REGION
    if region is not None:
        settings["endpoint.region"] = region
    told = {f"spark.hadoop.fs.s3a.{name}": value for name, value in settings.items()}
    for name, value in (("AWS_ENDPOINT_URL", endpoint), ("AWS_REGION", region)):
        if value is not None:
            told[f"spark.executorEnv.{name}"] = value
    return told


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or None


def _region() -> str | None:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None


def _is_plain(endpoint: str) -> bool:
    return endpoint.lower().startswith("http://")


def _said(text: str, uri: str) -> str:
    """The first line of a library's own text, without the URI's secrets."""
    said = text.strip().split("\n", 1)[0].replace(uri, shown_uri(uri))
    secrets = [uri.partition("?")[2], *(_USER.search(uri) or [""])[0].rstrip("@").split(":")]
    for secret in secrets:
        if len(secret) > 2:
            said = said.replace(secret, "***")
    return said
